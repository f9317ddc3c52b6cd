import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import Database from 'better-sqlite3';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LangoError } from '../../../src/core/errors.js';
import { silentLogger } from '../../../src/core/logger.js';
import type { Work } from '../../../src/storage/sqlite/group-commit.js';
import { GroupCommit } from '../../../src/storage/sqlite/group-commit.js';

let folder: string;
let database: Database.Database;
let onlooker: Database.Database;
let commits: GroupCommit;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lango-group-'));
  database = new Database(join(folder, 'x.db'));
  database.pragma('journal_mode = WAL');
  database.exec(`
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE notes (text TEXT PRIMARY KEY);
    CREATE TABLE replies (note TEXT REFERENCES notes (text) DEFERRABLE INITIALLY DEFERRED);`);
  onlooker = new Database(join(folder, 'x.db'), { readonly: true });
  commits = new GroupCommit(database, silentLogger);
});

afterEach(() => {
  onlooker.close();
  database.close();
  rmSync(folder, { recursive: true });
});

function committed(): unknown[] {
  return onlooker.prepare('SELECT text FROM notes ORDER BY text').pluck().all();
}

function note(text: string): Work<string> {
  return () => {
    database.prepare('INSERT INTO notes VALUES (?)').run(text);
    return text;
  };
}

/** A write that succeeds itself and makes COMMIT fail. */
const replyToNothing: Work<void> = () => {
  database.prepare("INSERT INTO replies VALUES ('nothing')").run();
};

describe('group commit', () => {
  it('makes one transaction for one turn of the event loop, and settles after its commit', async () => {
    const seen: unknown[] = [];
    const writes = ['a', 'b', 'c'].map((text) =>
      commits.run((touch) => {
        seen.push(committed());
        return note(text)(touch);
      }),
    );
    expect(seen).toEqual([]);
    expect(await writes[0]).toBe('a');
    expect(committed()).toEqual(['a', 'b', 'c']);
    expect(await Promise.all(writes)).toEqual(['a', 'b', 'c']);
    expect(seen).toEqual([[], [], []]);
  });

  it('runs the writes of a later turn in a later transaction', async () => {
    await commits.run(note('a'));
    const [seen] = await Promise.all([commits.run(() => committed()), commits.run(note('b'))]);
    expect(seen).toEqual(['a']);
    expect(committed()).toEqual(['a', 'b']);
  });

  it('reads what is committed in the transaction of its turn, and ends it without a write too', async () => {
    await commits.run(note('a'));
    const write = commits.run(note('b'));
    expect(commits.read(() => [committed(), database.inTransaction])).toEqual([['a'], true]);
    expect(await write).toBe('b');
    expect(committed()).toEqual(['a', 'b']);
    commits.read(committed);
    commits.endReading();
    expect(database.inTransaction).toBe(false);
    commits.read(committed);
    await nextTurn();
    expect(database.inTransaction).toBe(false);
  });

  it('writes after the change that another program made since the turn read', async () => {
    commits.read(() => database.prepare('SELECT text FROM notes').all());
    const other = new Database(join(folder, 'x.db'));
    other.prepare("INSERT INTO notes VALUES ('other')").run();
    other.close();
    const write = commits.run(note('a'));
    await nextTurn();
    expect(commits.read(committed)).toEqual(['other']);
    expect(await write).toBe('a');
    expect(committed()).toEqual(['a', 'other']);
    expect(database.inTransaction).toBe(false);
  });

  it('rejects a write that refuses by itself, and does not run the others again', async () => {
    let runs = 0;
    const refuse: Work<void> = () => {
      throw new LangoError('fenced', 'not yours');
    };
    const count: Work<void> = () => void (runs += 1);
    const results = await Promise.allSettled([
      commits.run(count),
      commits.run(refuse),
      commits.run(note('a')),
    ]);
    expect(results[1]).toMatchObject({ status: 'rejected', reason: { code: 'fenced' } });
    expect(committed()).toEqual(['a']);
    expect(runs).toBe(1);
  });

  it.each([
    ['a write', note('a')],
    ['the commit', replyToNothing],
  ])('rolls only the failing write back when %s fails, and stores the others once', async (_, bad) => {
    const results = await Promise.allSettled(
      [note('a'), bad, note('b'), note('c')].map((work) => commits.run<string | void>(work)),
    );
    expect(results.map((result) => result.status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ]);
    expect(results[1]).toMatchObject({ reason: { code: 'storage', cause: { name: 'SqliteError' } } });
    expect(committed()).toEqual(['a', 'b', 'c']);
    expect(database.inTransaction).toBe(false);
  });

  it('reports a full disk, and continues when there is space again', async () => {
    const pages = Number(database.pragma('page_count', { simple: true }));
    database.pragma(`max_page_count = ${pages + 1}`);
    await expect(commits.run(note('x'.repeat(100_000)))).rejects.toMatchObject({
      code: 'storage',
      message: expect.stringContaining('disk'),
      hint: expect.stringContaining('Free space'),
      retryable: true,
    });
    database.pragma(`max_page_count = ${pages + 1_000}`);
    expect(await commits.run(note('short'))).toBe('short');
  });

  it('notifies once per task and group, and not about writes that were rolled back', async () => {
    const hints: string[] = [];
    commits.listeners.add((taskId) => hints.push(taskId));
    const touching = (taskId: string, work: Work<unknown>) =>
      commits.run((touch) => {
        touch(taskId, []);
        return work(touch);
      });
    const nothing: Work<void> = () => undefined;
    await Promise.all([touching('t1', nothing), touching('t2', nothing), touching('t1', nothing)]);
    expect(hints).toEqual(['t1', 't2']);
    await Promise.allSettled([
      touching('t3', nothing),
      touching('t4', replyToNothing),
      touching('t3', nothing),
    ]);
    expect(hints).toEqual(['t1', 't2', 't3']);
  });
});
