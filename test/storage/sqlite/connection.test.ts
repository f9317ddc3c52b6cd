import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import Database from 'better-sqlite3';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '../../../src/core/logger.js';
import { newId } from '../../../src/core/ids.js';
import type { Storage } from '../../../src/stores/storage.js';
import { assertSqliteVersion } from '../../../src/storage/sqlite/connection.js';
import { FIRST_VERSION, MIGRATIONS } from '../../../src/storage/sqlite/migrations.js';
import { APPLICATION_ID, SCHEMA } from '../../../src/storage/sqlite/schema.js';
import { openSqliteStorage } from '../../../src/storage/sqlite/storage.js';
import {
  acceptOne,
  AGENT,
  ALICE,
  fenceOf,
  newTask,
  RUN_START,
  taskOf,
} from '../../suites/task-store-fixtures.js';
import { startProcess } from './start-process.js';

let folder: string;
let file: string;
const opened: Storage[] = [];

function open(path = file): Storage {
  const storage = openSqliteStorage({ file: path, synchronous: 'full', logger: silentLogger });
  opened.push(storage);
  return storage;
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lango-store-'));
  file = join(folder, 'lango.db');
});

afterEach(async () => {
  await Promise.all(opened.splice(0).map((storage) => storage.close()));
  chmodSync(folder, 0o700);
  rmSync(folder, { recursive: true });
});

function refusal(path = file): unknown {
  try {
    open(path);
  } catch (error) {
    return error;
  }
  throw new Error('it opened');
}

/** Makes an empty database as an earlier version did. */
function madeAs(version: number): void {
  const database = new Database(file);
  database.function('inbox_key', { varargs: true }, () => null);
  for (const sql of [SCHEMA, ...MIGRATIONS.slice(0, version - FIRST_VERSION)]) database.exec(sql);
  database.pragma(`application_id = ${APPLICATION_ID}`);
  database.pragma(`user_version = ${version}`);
  database.close();
}

/** The columns of each table. */
function tablesOf(path: string): unknown {
  const database = new Database(path, { readonly: true });
  const sql = `SELECT m.name AS "table", c.name, c.type, c."notnull", c.pk FROM sqlite_schema m
    JOIN pragma_table_info(m.name) c WHERE m.type = 'table' ORDER BY m.name, c.name`;
  const rows = database.prepare(sql).all();
  const version: unknown = database.pragma('user_version', { simple: true });
  database.close();
  return { version, rows };
}

function dropEvents(): void {
  const database = new Database(file);
  database.exec('DROP TABLE events');
  database.close();
}

function saying(message: RegExp, hint: RegExp) {
  return {
    code: 'storage',
    message: expect.stringMatching(message),
    hint: expect.stringMatching(hint),
  };
}

describe('a reopened database', () => {
  it('recognizes the messages of a database of version 16', async () => {
    const entry = newTask({ givenContextId: 'a', contextId: 'a' });
    const { id } = taskOf(await open().tasks.accept(entry));
    await opened.pop()!.close();
    const earlier = new Database(file);
    earlier.exec(`DROP TABLE inbox; CREATE TABLE inbox (tenant, owner, agent, message_id, request_hash, task, seq);
      INSERT INTO inbox VALUES ('', 'alice', '${AGENT}', '${entry.message.id}', 'hash', '${id}', 1); ALTER TABLE removed_tasks DROP COLUMN id;
      ALTER TABLE removed_tasks DROP COLUMN context;
      ALTER TABLE tasks DROP COLUMN traced; DROP TABLE model_spending; DROP TABLE background_usage;
      DROP TRIGGER tasks_last; DROP TABLE capabilities; DROP TABLE task_use; DROP INDEX tasks_forks; ALTER TABLE tasks DROP COLUMN sent; DELETE FROM meta WHERE key = 'inbox_moved';
      ALTER TABLE tasks DROP COLUMN fork_of; ALTER TABLE tasks DROP COLUMN fork_at;
      PRAGMA user_version = 16;`);
    earlier.close();
    const { tasks } = open();
    const sent = [
      entry,
      { ...entry, givenContextId: undefined },
      { ...entry, givenContextId: 'b', id: newId() },
    ];
    const kinds = [];
    for (const each of sent) kinds.push(await tasks.accept(each));
    expect(kinds).toMatchObject([
      { kind: 'repeated', task: { id } },
      { kind: 'repeated', task: { id } },
      { kind: 'accepted' },
    ]);
  });

  it('has its tasks, events, inbox and name unchanged', async () => {
    const first = open();
    const entry = newTask();
    const task = taskOf(await first.tasks.accept(entry));
    const events = await first.tasks.read(task.id, 0, 10);
    const name = first.nodeId;
    await first.close();
    const second = open();
    expect(await second.tasks.get(ALICE, task.id)).toEqual(task);
    expect(await second.tasks.read(task.id, 0, 10)).toEqual(events);
    expect(await second.tasks.accept(entry)).toMatchObject({ kind: 'repeated', seq: 1 });
    expect(second.nodeId).toBe(name);
    expect(name).toHaveLength(36);
  });

  it('voids the leases of the earlier process, and fences its late writes', async () => {
    const first = open();
    const task = await acceptOne(first.tasks, { lease: 'before' });
    await first.close();
    const second = open();
    await expect(second.tasks.append(fenceOf(task), [RUN_START])).rejects.toMatchObject({ code: 'fenced' });
    expect(await second.tasks.claim('after', [AGENT], () => 10)).toMatchObject([{ id: task.id }]);
  });

  it('has files that only this user may read, and keeps the rights of existing files', async () => {
    const other = join(folder, 'other.db');
    writeFileSync(other, '', { mode: 0o640 });
    await acceptOne(open().tasks);
    open(other);
    const rights = [file, `${file}-wal`, `${file}-shm`, `${file}.lock`, other].map(
      (path) => statSync(path).mode & 0o777,
    );
    expect(rights).toEqual([0o600, 0o600, 0o600, 0o600, 0o640]);
  });

  it('treats an empty file as a new database', () => {
    writeFileSync(file, '');
    expect(open().nodeId).toHaveLength(36);
  });
});

describe('opening a database file', () => {
  it('refuses one of a newer version, and leaves it unchanged', async () => {
    await open().close();
    const database = new Database(file);
    const version = Number(database.pragma('user_version', { simple: true }));
    database.pragma(`user_version = ${version + 1}`);
    database.close();
    const before = readFileSync(file);
    const newer = new RegExp(`newer version of Lango: schema ${version + 1} > ${version}`);
    expect(refusal()).toMatchObject(saying(newer, /Start that version/));
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it('refuses one with tables of a newer capability, before it upgrades the others', () => {
    madeAs(21);
    const database = new Database(file);
    database.exec("INSERT INTO capabilities (name, version) VALUES ('notes', 2)");
    database.close();
    const before = readFileSync(file);
    const tables = [{ name: 'notes', sqlite: ['CREATE TABLE notes_one (x)'], postgres: [], isForeign: true }];
    expect(() => openSqliteStorage({ file, synchronous: 'full', logger: silentLogger, tables })).toThrow(
      'The tables of notes were made by a newer version of it: schema 2 > 1.',
    );
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it('upgrades one of each released version to the same tables', async () => {
    await open().close();
    const fresh = tablesOf(file);
    for (let version = FIRST_VERSION; version < FIRST_VERSION + MIGRATIONS.length; version += 1) {
      rmSync(file);
      rmSync(`${file}.mark`);
      madeAs(version);
      await open().close();
      expect({ version, tables: tablesOf(file) }).toEqual({ version, tables: fresh });
    }
  });

  it('refuses one of a build before the first release, and leaves it unchanged', async () => {
    await open().close();
    const database = new Database(file);
    database.pragma('user_version = 14');
    database.close();
    const before = readFileSync(file);
    expect(refusal()).toMatchObject(
      saying(/before the first release of Lango: schema 14/, /Move the file away/),
    );
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it('refuses one that belongs to another program', () => {
    const database = new Database(file);
    database.exec('CREATE TABLE recipes (name TEXT)');
    database.close();
    expect(refusal()).toMatchObject(saying(/another program/, /another data folder/));
  });

  it('refuses one that is no database', () => {
    writeFileSync(file, 'Dear diary, '.repeat(1_000));
    expect(refusal()).toMatchObject(saying(/damaged, or is not a database/, /backup/));
  });

  it('refuses one that is damaged inside', async () => {
    const storage = open();
    for (let count = 0; count < 100; count += 1) await acceptOne(storage.tasks);
    await storage.close();
    const bytes = readFileSync(file);
    const pageBytes = 4_096;
    writeFileSync(file, bytes.fill(0xa5, pageBytes));
    expect(refusal()).toMatchObject({ code: 'storage', message: expect.stringMatching(/damaged/) });
  });

  it('refuses one in a missing folder', () => {
    const hint = /Create the data folder.* The database is .*\/gone\/lango\.db/;
    expect(refusal(join(folder, 'gone', 'lango.db'))).toMatchObject(saying(/folder .* does not exist/, hint));
  });

  it('refuses one in a folder without write permission', async () => {
    chmodSync(folder, 0o555);
    const said = await startProcess('try-unprivileged', file).first;
    expect(said).toMatchObject(
      saying(
        /may not write to the database|cannot be opened/,
        /Give this user write permission on the data folder/,
      ),
    );
  });

  it('refuses one without write permission', async () => {
    await open().close();
    chmodSync(folder, 0o555);
    for (const name of [file, `${file}.lock`]) chmodSync(name, 0o444);
    const said = await startProcess('try-unprivileged', file).first;
    expect(said).toMatchObject(
      saying(
        /may not write to the database|cannot be opened/,
        /Give this user write permission on the data folder/,
      ),
    );
  });

  it('refuses one without its tables', async () => {
    await open().close();
    dropEvents();
    expect(refusal()).toMatchObject({ code: 'storage' });
    rmSync(file);
    expect(open().nodeId).toHaveLength(36);
  });

  it('works again once the reason of a refusal is gone', () => {
    writeFileSync(file, 'x'.repeat(5_000));
    refusal();
    rmSync(file);
    expect(open().nodeId).toHaveLength(36);
  });
});

describe('a store whose file is damaged while it is open', () => {
  it('reports a typed error, at reads and at writes', async () => {
    const storage = open();
    const task = await acceptOne(storage.tasks);
    dropEvents();
    const spoiled = { code: 'storage', cause: { name: 'SqliteError' } };
    await expect(storage.tasks.readSession(task, 1)).rejects.toMatchObject(spoiled);
    await expect(storage.tasks.append(fenceOf(task), [RUN_START])).rejects.toMatchObject(spoiled);
    expect(await storage.tasks.get(ALICE, task.id)).toEqual(task);
  });
});

describe('the lock of a database', () => {
  const inUse = saying(/Another process uses this database/, /Stop the other server/);

  it('refuses a second store on the same file, also by another name', async () => {
    const storage = open();
    symlinkSync(file, join(folder, 'alias.db'));
    expect(refusal()).toMatchObject(inUse);
    expect(refusal(join(folder, 'alias.db'))).toMatchObject(inUse);
    await acceptOne(storage.tasks);
    await storage.close();
    open();
  });

  it('refuses a file that another process holds, until that process is killed', async () => {
    const other = startProcess('hold', file);
    try {
      await other.first;
      expect(refusal()).toMatchObject(inUse);
    } finally {
      await other.kill();
    }
    await acceptOne(open().tasks);
  });

  it('lets other processes read meanwhile', async () => {
    const storage = open();
    await acceptOne(storage.tasks);
    const reader = new Database(file, { readonly: true });
    expect(reader.prepare('SELECT count(*) FROM events').pluck().get()).toBe(1);
    reader.close();
  });
});

describe('the bundled SQLite', () => {
  it('is refused before version 3.51.3, whose log can be trusted', () => {
    for (const version of ['3.51.2', '3.9.9', '2.99.0', '']) {
      expect(() => assertSqliteVersion(version)).toThrow('3.51.3 is needed');
    }
    for (const version of ['3.51.3', '3.52.0', '3.100.0', '4.0.0']) assertSqliteVersion(version);
  });
});
