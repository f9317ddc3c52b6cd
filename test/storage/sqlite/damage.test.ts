import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import Database from 'better-sqlite3';
import { cpSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Storage } from '../../../src/stores/storage.js';
import { verifyDatabase } from '../../../src/storage/sqlite/verify.js';
import { openSqliteStorage } from '../../../src/storage/sqlite/storage.js';
import { RecordingLogger } from '../../support/recording-logger.js';
import {
  acceptOne,
  AGENT,
  ALICE,
  fenceOf,
  message,
  readAll,
  runEnd,
  turnEnd,
} from '../../suites/task-store-fixtures.js';

let folder: string;
let copied: string;
let log: RecordingLogger;
const opened: Storage[] = [];

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'lango-damage-'));
  copied = `${folder}-killed`;
  log = new RecordingLogger();
});

afterEach(async () => {
  await Promise.all(opened.splice(0).map((storage) => storage.close()));
  rmSync(folder, { recursive: true });
  rmSync(copied, { recursive: true, force: true });
});

type Tier = 'normal' | 'full';

function open(options: { acceptDamage?: boolean; synchronous?: Tier; at?: string } = {}): Storage {
  const { at = folder, synchronous = 'normal', acceptDamage } = options;
  const storage = openSqliteStorage({
    file: path.join(at, 'lango.db'),
    synchronous,
    acceptDamage,
    logger: log,
  });
  opened.push(storage);
  return storage;
}

/** The files that a kill leaves behind, after so many tasks. */
async function killedAfter(tasks: number, synchronous: Tier = 'normal'): Promise<string> {
  const storage = open({ synchronous });
  for (let count = 0; count < tasks; count += 1) await acceptOne(storage.tasks);
  cpSync(folder, copied, { recursive: true });
  return copied;
}

function refusal(at: string): unknown {
  try {
    open({ at });
  } catch (error) {
    return error;
  }
  throw new Error('it opened');
}

const saying = (message: RegExp) => ({ code: 'storage', message: expect.stringMatching(message) });

describe('the start on a database', () => {
  it('accepts the files that a kill left behind', async () => {
    const at = await killedAfter(20);
    expect((await open({ at }).tasks.list(ALICE, { agent: AGENT, pageSize: 50 })).tasks).toHaveLength(20);
    expect(log.lines.filter((line) => line.includes('missing'))).toEqual([]);
  });

  it.each([
    ['is gone', (wal: string) => rmSync(wal)],
    ['is empty', (wal: string) => truncateSync(wal)],
    ['was cut off', (wal: string) => truncateSync(wal, Math.floor(readFileSync(wal).length / 2))],
  ])('refuses one whose log %s, and opens it only on request', async (_, damage) => {
    const at = await killedAfter(20);
    const wal = path.join(at, 'lango.db-wal');
    damage(wal);
    rmSync(path.join(at, 'lango.db-shm'));
    // A missing log takes the tables with it, so the file is empty.
    expect(refusal(at)).toMatchObject(saying(/The last \d+ of 20 acknowledged commits are missing/));
    const storage = open({ at, acceptDamage: true });
    expect(log.lines.join('\n')).toContain('because of --accept-damage');
    await acceptOne(storage.tasks);
    await storage.close();
    expect(
      (await open({ at }).tasks.list(ALICE, { agent: AGENT, pageSize: 50 })).tasks.length,
    ).toBeGreaterThan(0);
  });

  it('refuses to create one where one existed', async () => {
    const at = await killedAfter(3);
    for (const ending of ['', '-wal', '-shm']) rmSync(path.join(at, `lango.db${ending}`));
    expect(refusal(at)).toMatchObject(saying(/The database file is gone. It held 3 commits/));
    expect(open({ at, acceptDamage: true }).nodeId).toHaveLength(36);
  });

  it.each([
    ['normal', 'continues with a warning'],
    ['full', 'refuses'],
  ] as const)(
    'loses the last commits to a power failure in the tier %s: it %s',
    async (synchronous, does) => {
      const at = await killedAfter(5, synchronous);
      rmSync(path.join(at, 'lango.db-wal'));
      const mark = path.join(at, 'lango.db.mark');
      writeFileSync(mark, readFileSync(mark, 'utf8').replace(/boot [^,]*/, 'boot an-earlier-one'));
      if (does === 'refuses') expect(refusal(at)).toMatchObject(saying(/are missing/));
      else expect(open({ at }).nodeId).toHaveLength(36);
      expect(log.lines.some((line) => line.includes('started again'))).toBe(does !== 'refuses');
    },
  );

  it.each([
    ['is gone', (mark: string) => rmSync(mark)],
    ['is empty', (mark: string) => truncateSync(mark)],
    ['cannot be read', (mark: string) => writeFileSync(mark, '00000000000000x3 commits')],
  ])('refuses one whose mark %s, and opens it only on request', async (_, damage) => {
    const at = await killedAfter(3);
    damage(path.join(at, 'lango.db.mark'));
    const words = /The mark beside the database .*Whether commits are missing cannot be known/;
    expect(verifyDatabase(path.join(at, 'lango.db')).problems).toEqual([expect.stringMatching(words)]);
    expect(refusal(at)).toMatchObject(saying(words));
    const storage = open({ at, acceptDamage: true });
    await storage.close();
    expect(open({ at }).nodeId).toHaveLength(36);
  });

  it('refuses one that lacks events of a task', async () => {
    const storage = open();
    const task = await acceptOne(storage.tasks, { lease: 'w' });
    await storage.tasks.append(fenceOf(task), [turnEnd('a')]);
    await storage.close();
    change('DELETE FROM events WHERE seq = 2');
    expect(refusal(folder)).toMatchObject(saying(new RegExp(`${task.id} has 1 of 2`)));
  });
});

function change(sql: string): void {
  const database = new Database(path.join(folder, 'lango.db'));
  database.exec(sql);
  database.close();
}

describe('a task that repeats entries of another one', () => {
  it('is reported when that one is gone', async () => {
    const { tasks } = open();
    const task = await acceptOne(tasks);
    const text = 'a text that is longer than its reference. '.repeat(9);
    const body = { type: 'text-delta', artifactId: 'x', text, replace: false } as const;
    await tasks.append(fenceOf(task), [{ author: AGENT, body: { ...body, from: [task.id, 1, 1] } }]);
    const problems = () => verifyDatabase(path.join(folder, 'lango.db')).problems;
    expect(problems()).toEqual([]);
    await tasks.append(fenceOf(task), [{ author: AGENT, body: { ...body, from: ['nowhere', 1, 1] } }]);
    expect(problems()).toEqual([`Task ${task.id} repeats entries of task nowhere, which is gone.`]);
  });
});

describe('a damaged byte', () => {
  async function ended() {
    const storage = open();
    const task = await acceptOne(storage.tasks, { lease: 'w', message: message('secret order') });
    await storage.tasks.append(fenceOf(task), [turnEnd('the truth'), runEnd('completed', 'the truth')]);
    await storage.close();
    return task;
  }

  it.each(['order', 'truth'])('is never served in an event (%s)', async (word) => {
    const task = await ended();
    change(`UPDATE events SET body = replace(body, '${word}', 'other')`);
    await expect(readAll(open().tasks, task)).rejects.toMatchObject(
      saying(/Entr(y 1|ies 2 to 3) of task .* (is|are) damaged/),
    );
  });

  it('is never served in the author of an event', async () => {
    const task = await ended();
    change("UPDATE events SET author = 'somebody' WHERE seq = 3");
    const damaged = saying(/Entries 2 to 3 of task .* are damaged/);
    await expect(readAll(open().tasks, task)).rejects.toMatchObject(damaged);
  });

  it('is never served in the message of a state', async () => {
    const task = await ended();
    change("UPDATE tasks SET status_message = replace(status_message, 'truth', 'other')");
    await expect(open().tasks.get(ALICE, task.id)).rejects.toMatchObject(
      saying(/status message .* is damaged/),
    );
  });

  it('is not looked for in events of an earlier version, which have no checksum', async () => {
    const task = await ended();
    change('UPDATE events SET checksum = NULL; UPDATE tasks SET status_message = substr(status_message, 9)');
    const { tasks } = open();
    expect(await readAll(tasks, task)).toHaveLength(3);
    expect((await tasks.get(ALICE, task.id))?.statusMessage?.parts).toEqual([
      { kind: 'text', text: 'the truth' },
    ]);
  });
});
