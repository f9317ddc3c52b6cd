import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { extract } from 'tar';
import { silentLogger } from '../../src/core/logger.js';
import { newId } from '../../src/core/ids.js';
import type { TaskRecord } from '../../src/core/task.js';
import { openPostgresStorage } from '../../src/storage/postgres/storage.js';
import { openSqliteStorage } from '../../src/storage/sqlite/storage.js';
import { verifyDatabase } from '../../src/storage/sqlite/verify.js';
import type { Storage } from '../../src/stores/storage.js';
import {
  AGENT,
  ALICE,
  delta,
  fenceOf,
  message,
  newInput,
  newTask,
  runEnd,
  typesOf,
} from '../suites/task-store-fixtures.js';
import { startPostgres } from '../support/postgres.js';

/**
 * Databases of commit 8037b556, with a row for each event and a hash of each request: schema 22 of SQLite, 6 of
 * PostgreSQL. `test/fixtures/README.md` says what they hold.
 */

/** The events as that version read them. */
interface Expected {
  readonly nodeId: string;
  readonly tasks: readonly TaskRecord[];
  readonly events: Readonly<Record<string, unknown>>;
  readonly session: readonly unknown[];
  /** The ids of the tasks of one owner. */
  readonly owned: readonly string[];
  /** Ids: an unfinished task, one that waits, and one that was removed without its events. */
  readonly open: string;
  readonly waiting: string;
  readonly gone: string;
}

const YEARS_MS = 50 * 365 * 24 * 60 * 60 * 1_000;
const server = await startPostgres();
afterAll(() => server?.stop());

let folder: string;
let storage: Storage;
let expected: Expected;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'lango-rows-'));
  await extract({ file: path.resolve('test/fixtures/rows.tar.gz'), cwd: folder });
});
afterEach(async () => {
  await storage.close();
  await rm(folder, { recursive: true });
});

const fileOf = () => path.join(folder, 'lango.db');
const COMMON = { logger: silentLogger, messageIdMs: YEARS_MS, tables: [] };
const openFile = (): Storage => openSqliteStorage({ ...COMMON, file: fileOf(), synchronous: 'normal' });

const engines: readonly [name: string, open: () => Promise<Storage>, isHere: boolean][] = [
  ['sqlite', async () => openFile(), true],
  [
    'postgres',
    async () => {
      const database = await server!.database();
      await database.run(await readFile(path.join(folder, 'dump.sql'), 'utf8'));
      const limits = { connections: 2, statementSeconds: 30, pooling: 'session' } as const;
      return openPostgresStorage({ ...COMMON, ...limits, url: database.url });
    },
    server !== undefined,
  ],
];

describe.each(engines)('a %s database with a row for each event', (name, open, isHere) => {
  const onEngine = isHere ? it : it.skip;
  beforeEach(async () => {
    if (!isHere) return;
    expected = JSON.parse(await readFile(path.join(folder, `${name}.json`), 'utf8')) as Expected;
    storage = await open();
  });
  const taskOf = (id: string) => expected.tasks.find((task) => task.id === id)!;
  const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

  onEngine('is read as it was written', async () => {
    const { tasks } = storage;
    expect(storage.nodeId).toBe(expected.nodeId);
    for (const task of expected.tasks) {
      expect(asJson(await tasks.get(task, task.id))).toMatchObject({
        ...task,
        epoch: expect.any(Number),
        crashes: expect.any(Number),
      });
      const events = asJson(await tasks.read(task.id, 0, 1_000)) as readonly unknown[];
      expect(events).toEqual(expected.events[task.id]);
      expect(asJson(await tasks.read(task.id, 1, 2))).toEqual(events.slice(1, 3));
    }
    expect(asJson(await tasks.readSession(taskOf(expected.open), 100))).toEqual(expected.session);
    const page = await tasks.list(ALICE, { agent: AGENT, pageSize: 100 });
    expect(page.tasks.map(({ id }) => id)).toEqual(expected.owned);
  });

  onEngine('recognizes its messages, and refuses their ids for others', async () => {
    const { tasks } = storage;
    const [one, waiting] = [expected.tasks[0]!, taskOf(expected.waiting)];
    const named = newTask({ message: message('question 1', 'named-1'), givenContextId: 'session' });
    expect(await tasks.findEarlier(named)).toMatchObject({ kind: 'repeated', task: { id: one.id }, seq: 1 });
    const unnamed = newTask({ message: message('paint', 'unnamed') });
    expect(await tasks.accept(unnamed)).toMatchObject({ kind: 'repeated', task: { id: waiting.id } });
    const input = newInput(waiting, { message: message('blue\n"quoted" \u2028 ✓', 'input') });
    expect(await tasks.addInput(input)).toMatchObject({ kind: 'repeated', seq: 4 });
    const other = message('other', 'named-1');
    expect(await tasks.accept(newTask({ message: other, givenContextId: 'session' }))).toEqual({
      kind: 'conflict',
    });
    expect(await tasks.accept(newTask({ message: other, givenContextId: 'b' }))).toMatchObject({
      kind: 'accepted',
    });
  });

  onEngine('goes on with an unfinished task, in rows of several events', async () => {
    const { tasks } = storage;
    const { open: id } = expected;
    const claimed = (await tasks.claim('after', [AGENT], () => 9)).find((task) => task.id === id)!;
    await tasks.append(fenceOf(claimed), [delta('more'), delta('and more', 'other'), runEnd('completed')]);
    expect(await typesOf(tasks, claimed)).toEqual([
      ...['message', 'run-start', 'text-delta', 'text-delta', 'run-end'],
    ]);
    const next = { ...newTask({ id: newId(), contextId: 'session', message: message('question 4') }) };
    await tasks.accept(next);
    const session = await tasks.readSession({ ...claimed, id: next.id }, 2);
    expect(session.map(({ body }) => body.type)).toEqual(['message', 'run-end']);
  });

  onEngine('loses a removed task and its message', async () => {
    await storage.retention.remove([expected.tasks[0]!.id]);
    const left = await storage.database.read(function* () {
      const counted = yield { sql: 'SELECT DISTINCT task FROM events', values: [] };
      return counted.rows.length;
    });
    expect(left).toBe(expected.tasks.length - 1);
    const again = newTask({ message: message('question 1', 'named-1'), givenContextId: 'session' });
    expect(await storage.tasks.accept(again)).toMatchObject({ kind: 'accepted' });
  });
});

describe('an upgraded SQLite file', () => {
  it('has no damage, and counts its events as before', async () => {
    storage = openFile();
    await storage.close();
    const { problems, tasks, events } = verifyDatabase(fileOf());
    expect({ problems, tasks, events }).toEqual({ problems: [], tasks: 8, events: 196 });
  });
});
