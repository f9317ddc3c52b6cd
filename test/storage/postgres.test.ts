import { openPostgresStores } from '../../lab/all-stores.js';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from '@jest/globals';
import { silentLogger } from '../../src/core/logger.js';
import { extractionStoreSuite } from '../suites/extraction-store.js';
import { graphStoreSuite } from '../suites/graph-store.js';
import { knowledgeStoreSuite } from '../suites/knowledge-store.js';
import { libraryStoreSuite } from '../suites/library-store.js';
import { memoryStoreSuite } from '../suites/memory-store.js';
import { paymentStoreSuite } from '../suites/payment-store.js';
import { pushStoreSuite } from '../suites/push-store.js';
import { retentionStoreSuite } from '../suites/retention-store.js';
import { spendingStoreSuite } from '../suites/spending-store.js';
import { traceStoreSuite } from '../suites/trace-store.js';
import type { OpenStore } from '../suites/task-store-fixtures.js';
import type { EventBody } from '../../src/core/task.js';
import { taskSql } from '../../src/storage/task-sql.js';
import type { TaskStore } from '../../src/stores/tasks.js';
import { EXPORT_LEASE_MS } from '../../src/stores/traces.js';
import { LEASE_MS, LEASE_RENEW_MS } from '../../src/stores/tasks.js';
import { lango, makeHome } from '../cli/lango-process.js';
import { Way } from '../../lab/chaos/stack.js';
import { documentOf, unit } from '../suites/library-fixtures.js';
import {
  acceptOne,
  AGENT,
  ALICE,
  BOB,
  delta,
  fenceOf,
  RUN_START,
  runEnd,
  seqsOf,
} from '../suites/task-store-fixtures.js';
import { RecordingLogger } from '../support/recording-logger.js';
import { sendText, withServer } from '../support/server.js';
import { taskStoreSuite } from '../suites/task-store.js';
import { turns } from '../suites/turns.js';
import { vaultStoreSuite } from '../suites/vault-store.js';
import { startPostgres } from '../support/postgres.js';

turns.areNeeded = false;
const server = await startPostgres();

const OPTIONS = { connections: 8, statementSeconds: 30, pooling: 'session', logger: silentLogger } as const;

const database = await server?.database();
const TERMINATE_OTHERS =
  'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()';
const FIRST_MS = Date.now();
/** The clock of the store stands still, except for what a case adds. */
const setClock = (later: number) =>
  database!.run(
    `CREATE OR REPLACE FUNCTION lango_now() RETURNS BIGINT LANGUAGE sql VOLATILE AS 'SELECT ${FIRST_MS + later}::bigint'`,
  );

/** The database is emptied between the cases: creating one takes longer than a case. */
const empty = () =>
  database!.run(`DO $$ DECLARE name TEXT; BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'meta' LOOP
      EXECUTE 'DELETE FROM ' || name;
    END LOOP;
  END $$`);

const open: OpenStore = () => openWith({});
/** Opens a store as behind PgBouncer: nothing outlives a transaction. */
const openPooled: OpenStore = () => openWith({ pooling: 'transaction', url: database!.pooledUrl });

async function openWith(given: { pooling?: 'transaction'; url?: string }): ReturnType<OpenStore> {
  const storage = await openPostgresStores({ ...OPTIONS, url: database!.url, ...given });
  let later = 0;
  await setClock(later);
  const advance = async (ms: number) => {
    later += ms;
    await setClock(later);
  };
  return { storage, store: storage.tasks, advance, dispose: async () => void (await empty()) };
}

const openOne = async () => {
  const { storage, dispose } = await open();
  // The first use opens the connections.
  await Promise.all([storage.memory.reflections(ALICE, 1), storage.memory.reflections(ALICE, 1)]);
  return { ...storage, close: () => storage.close().then(dispose) };
};

(server ? describe : describe.skip)('PostgreSQL', () => {
  afterAll(async () => {
    await database?.drop();
    await server?.stop();
  });
  if (process.env['LANGO_CAMPAIGN'] === '1') runSuites();

  const openTwo = async () => {
    const one = await open();
    const two = await openPostgresStores({ ...OPTIONS, url: database!.url });
    return { ...one, one: one.storage, two };
  };

  describe('several processes', () => {
    it('keep their leases when another one starts, until their connection ends', async () => {
      const { one, two, dispose, advance } = await openTwo();
      const task = await acceptOne(one.tasks, { lease: 'one' });
      expect(await two.tasks.claim('two', [AGENT], () => 1)).toEqual([]);
      expect(await one.tasks.append(fenceOf(task), [delta('still mine')])).toBe(2);
      await one.close();
      const three = await openPostgresStores({ ...OPTIONS, url: database!.url });
      await advance(2 * LEASE_RENEW_MS);
      const [taken] = await three.tasks.claim('three', [AGENT], () => 1);
      expect(taken).toMatchObject({ id: task.id, epoch: task.epoch + 2, crashes: 1 });
      await expect(two.tasks.append(fenceOf(task), [delta('zombie')])).rejects.toMatchObject({
        code: 'fenced',
      });
      expect(await three.tasks.append(fenceOf(taken!), [delta('mine')])).toBe(3);
      await Promise.all([two.close(), three.close()]);
      await dispose();
    });

    it('read the events that others appended to a task that they take back', async () => {
      const { one, two, dispose } = await openTwo();
      const task = await acceptOne(one.tasks, { lease: 'one' });
      await one.tasks.append(fenceOf(task), [RUN_START]);
      await one.tasks.release('one');
      const [taken] = await two.tasks.claim('two', [AGENT], () => 1);
      await two.tasks.append(fenceOf(taken!), [RUN_START, delta('from two')]);
      await two.tasks.release('two');
      const [back] = await one.tasks.claim('one', [AGENT], () => 1);
      expect(back).toMatchObject({ id: task.id, head: 4 });
      expect(await seqsOf(one.tasks, task)).toEqual([1, 2, 3, 4]);
      await Promise.all([one.close(), two.close()]);
      await dispose();
    });

    it('read the content of an entry that another one wrote as a reference to a task below', async () => {
      const { one, two, dispose } = await openTwo();
      const text = 'a text that is longer than its reference. '.repeat(9);
      const below = await acceptOne(one.tasks);
      await one.tasks.append(fenceOf(below), [delta(text)]);
      const above = await acceptOne(one.tasks);
      const repeated = { ...delta(text).body, from: [below.id, 2, 2] } as EventBody;
      await one.tasks.append(fenceOf(above), [{ author: AGENT, body: repeated }]);
      const { rows } = await database!.run("SELECT body FROM events WHERE type = 'text-delta' ORDER BY task");
      // Rows with the bytes of their texts.
      expect(rows.map(({ body }) => Number(body) > text.length)).toEqual([true, false]);
      for (const each of [one, two])
        expect((await each.tasks.read(above.id, 1, 9)).map(({ body }) => body)).toEqual([repeated]);
      // With many entries it reads no others of the task below.
      const statement = taskSql(one.database.dialect).origins.replace('?', "''").replace('?', "'[]'");
      const outcome: unknown = await database!.run(
        `SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; EXPLAIN ${statement}; RESET ALL`,
      );
      expect(JSON.stringify((outcome as { readonly rows: unknown }[])[3]!.rows)).toContain(
        'Index Cond: ((task = span.key) AND (seq >= span.first) AND (seq < (span.last + 32)))',
      );
      await Promise.all([one.close(), two.close()]);
      await dispose();
    });

    it('keep the leases that they renew while their session is lost', async () => {
      const { one, two, dispose, advance } = await openTwo();
      const task = await acceptOne(one.tasks, { lease: 'one' });
      await advance(LEASE_MS - 1);
      await one.tasks.renew('one', [task.id]);
      await endSession('one');
      expect(await two.tasks.claim('two', [AGENT], () => 1)).toEqual([]);
      // The process takes its lock again, and gets the notifications of another one whose session is lost.
      while (!(await isLocked('one'))) await sleep(20);
      const heard = untilHeard(one.tasks, 2);
      await endSession('two');
      await two.tasks.requestCancel(ALICE, task.id);
      expect(await heard).toBe(task.id);
      await advance(2 * LEASE_RENEW_MS);
      await sleep(400);
      expect(await two.tasks.claim('two', [AGENT], () => 1)).toEqual([]);
      await Promise.all([one.close(), two.close()]);
      await dispose();
    });

    it("get the notifications of each other's events, in one order without gaps", async () => {
      const { one, two, dispose } = await openTwo();
      const task = await acceptOne(one.tasks, { lease: 'one' });
      const heard = untilHeard(two.tasks, 22);
      const cancel = two.tasks.requestCancel(ALICE, task.id);
      const appends = Array.from({ length: 19 }, (_, n) => one.tasks.append(fenceOf(task), [delta(`${n}`)]));
      await Promise.all([cancel, ...appends]);
      expect(await one.tasks.append(fenceOf(task), [RUN_START])).toBe(22);
      expect(await heard).toBe(task.id);
      expect(await seqsOf(two.tasks, task)).toEqual(await seqsOf(one.tasks, task));
      await Promise.all([one.close(), two.close()]);
      await dispose();
    });

    it('claim a task once, in turns of the owners', async () => {
      const { one, two, dispose } = await openTwo();
      for (const scope of [ALICE, ALICE, ALICE, ALICE, BOB]) await acceptOne(one.tasks, { scope });
      const claims = await Promise.all(
        [one, two].map(({ tasks }, n) => tasks.claim(`worker ${n}`, [AGENT], () => 4)),
      );
      const ids = claims.flat().map(({ id }) => id);
      expect(ids).toHaveLength(5);
      expect(new Set(ids).size).toBe(5);
      await Promise.all([one.close(), two.close()]);
      await dispose();
    });

    it('export spans one at a time, until the exporting one stops or is gone', async () => {
      const { one, two, dispose, advance } = await openTwo();
      expect([await one.traces.claim('one'), await two.traces.claim('two')]).toEqual([true, false]);
      await one.traces.release('one');
      expect([await two.traces.claim('two'), await one.traces.claim('one')]).toEqual([true, false]);
      await two.close();
      await advance(EXPORT_LEASE_MS);
      expect(await one.traces.claim('one')).toBe(true);
      await one.close();
      await dispose();
    });

    it('reserve no more than the daily budget of an owner', async () => {
      const { one, two, dispose } = await openTwo();
      const calls = Array.from({ length: 20 }, (_, call) =>
        (call % 2 ? one : two).spending.reserve(ALICE, { key: `${call}`, amount: 0.3, limit: 1 }),
      );
      const given = (await Promise.all(calls)).toSorted((a, b) => b - a);
      expect(given.slice(0, 5)).toEqual([0.3, 0.3, 0.3, 0.1, 0]);
      await Promise.all([one.close(), two.close()]);
      await dispose();
    });

    it.each(['repeatable read', 'serializable'])(
      'store the same when transactions are %s by default',
      async (level) => {
        const { url } = database!;
        const name = new URL(url).pathname.slice(1);
        const setLevel = (to: string) =>
          database!.run(`ALTER DATABASE ${name} SET default_transaction_isolation = ${to}`);
        await setLevel(`'${level}'`);
        const { one, two, dispose } = await openTwo();
        const task = await acceptOne(one.tasks, { lease: 'one' });
        const both = [one, two];
        const calls = Array.from({ length: 40 }, (_, call) =>
          both[call % 2]!.spending.reserve(ALICE, { key: `${call}`, amount: 0.3, limit: 1 }),
        );
        const sets = Array.from({ length: 40 }, (_, call) =>
          both[call % 2]!.tasks.requestCancel(ALICE, task.id),
        );
        const given = (await Promise.all(calls)).toSorted((a, b) => b - a);
        expect(given.slice(0, 5)).toEqual([0.3, 0.3, 0.3, 0.1, 0]);
        await Promise.all(sets);
        await Promise.all([one.close(), two.close()]);
        await setLevel('DEFAULT');
        await dispose();
      },
    );

    it('find the vectors that others add', async () => {
      const { one, two, dispose } = await openTwo();
      const near = async () =>
        (await two.library.findNear(ALICE, { vector: unit(1, 0), model: 'm', limit: 5 })).map(
          ({ name }) => name,
        );
      const add = async (file: string) => {
        await one.library.put(ALICE, documentOf(file, `about ${file}`));
        const [passage] = await one.library.unembedded(ALICE, 'm', 1);
        await one.library.addVectors(ALICE, 'm', new Map([[passage!.id, unit(1, 0)]]));
      };
      await add('first');
      expect(await near()).toEqual(['first']);
      await add('second');
      expect(await near()).toEqual(['first', 'second']);
      await one.library.remove(ALICE, 'documents', ['file:///first']);
      expect(await near()).toEqual(['second']);
      await Promise.all([one.close(), two.close()]);
      await dispose();
    });
  });

  it('reports why it cannot be used, and recovers by itself', async () => {
    const { url } = database!;
    const wrong = (change: Partial<URL>) =>
      openPostgresStores({ ...OPTIONS, url: Object.assign(new URL(url), change).toString() });
    await expect(wrong({ port: '1' })).rejects.toMatchObject({ code: 'storage', retryable: true });
    await expect(wrong({ pathname: '/nowhere' })).rejects.toThrow(
      'The database of storage.url does not exist',
    );
    await expect(wrong({ password: 'wrong' })).rejects.toThrow('refuses this user or password');
    const { storage, store, dispose } = await open();
    const task = await acceptOne(store, { lease: 'one' });
    await database!.run(TERMINATE_OTHERS);
    await store.append(fenceOf(task), [delta('x')]).catch(() => undefined);
    while (storage.problem()) await sleep(20);
    await store.append(fenceOf(task), [delta('y')]);
    await storage.close();
    await database!.run("UPDATE meta SET value = '99' WHERE key = 'schema'");
    await expect(wrong({})).rejects.toThrow('was made by a newer version of Lango: schema 99 > 12.');
    await database!.run("UPDATE meta SET value = '12' WHERE key = 'schema'");
    await dispose();
  });

  it('cannot be used while it accepts no writes, although it can be read', async () => {
    const { storage, store, dispose } = await open();
    const task = await acceptOne(store, { lease: 'one' });
    const name = new URL(database!.url).pathname.slice(1);
    const letWrite = async (how: string) => {
      await database!.run(`ALTER DATABASE ${name} ${how}`);
      await database!.run(TERMINATE_OTHERS);
    };
    await letWrite('SET default_transaction_read_only = on');
    const isRefused = () => /accepts no writes/.test(storage.problem()?.message ?? '');
    do await store.append(fenceOf(task), [delta('x')]).catch(() => undefined);
    while (!isRefused());
    expect(await store.get(ALICE, task.id)).toMatchObject({ id: task.id });
    expect(isRefused()).toBe(true);
    await letWrite('RESET default_transaction_read_only');
    while (storage.problem()) await sleep(20);
    await store.append(fenceOf(task), [delta('y')]);
    await storage.close();
    await dispose();
  });

  it('makes its tables in a database of UTF-8 only, and tells of others that have tables', async () => {
    const name = `lango_latin_${process.pid}`;
    await database!.run(`CREATE DATABASE ${name} TEMPLATE template0 ENCODING LATIN1 LOCALE 'C'`);
    const url = Object.assign(new URL(database!.url), { pathname: `/${name}` }).toString();
    await expect(openPostgresStores({ ...OPTIONS, url })).rejects.toMatchObject({
      message: expect.stringContaining('has the encoding LATIN1') as unknown,
      hint: expect.stringContaining('--encoding=UTF8') as unknown,
    });
    await database!.run(`DROP DATABASE ${name}`);
    const setEncoding = (encoding: string) =>
      database!.run(
        `UPDATE pg_database SET encoding = pg_char_to_encoding('${encoding}') WHERE datname = current_database()`,
      );
    await setEncoding('LATIN1');
    const logger = new RecordingLogger();
    await (await openPostgresStores({ ...OPTIONS, url: database!.url, logger })).close();
    await setEncoding('UTF8');
    expect(logger.lines.join()).toContain('has the encoding LATIN1');
  });

  it('reports that it has no connection left, and opens once it has one', async () => {
    const { storage, dispose } = await open();
    await storage.close();
    const role = `lango_few_${process.pid}`;
    await database!.run(`CREATE ROLE ${role} LOGIN PASSWORD 'few' CONNECTION LIMIT 1`);
    await database!.run(`GRANT ALL ON ALL TABLES IN SCHEMA public TO ${role}`);
    const url = Object.assign(new URL(database!.url), { username: role, password: 'few' }).toString();
    await expect(openPostgresStores({ ...OPTIONS, url })).rejects.toMatchObject({
      ...{ code: 'storage', retryable: true, message: 'PostgreSQL has no connection left.' },
    });
    await database!.run(`ALTER ROLE ${role} CONNECTION LIMIT 5`);
    await (await openPostgresStores({ ...OPTIONS, url })).close();
    await database!.run(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    await dispose();
  });

  const itLong = process.env['LANGO_CAMPAIGN'] === '1' ? it : it.skip;

  itLong('gives up a statement when the way to the server is cut, and goes on when it is back', async () => {
    const { url } = database!;
    const way = new Way({ port: Number(new URL(url).port) });
    const through = Object.assign(new URL(url), { port: String(await way.open()) }).toString();
    const storage = await openPostgresStores({ ...OPTIONS, statementSeconds: 1, url: through });
    const task = await acceptOne(storage.tasks, { lease: 'one' });
    way.cut(true);
    await expect(storage.tasks.get(ALICE, task.id)).rejects.toMatchObject({
      code: 'storage',
      retryable: true,
    });
    expect(storage.problem()).toBeDefined();
    way.cut(false);
    while (storage.problem()) await sleep(20);
    expect(await storage.tasks.append(fenceOf(task), [delta('y')])).toBe(2);
    await storage.close();
    way.close();
    await empty();
  });

  it('works behind a transaction pooler, without a session', async () => {
    const { storage } = await openPooled();
    const task = await acceptOne(storage.tasks, { lease: 'one' });
    expect(await storage.tasks.claim('two', [AGENT], () => 1)).toEqual([]);
    expect(await storage.tasks.append(fenceOf(task), [RUN_START, runEnd('completed')])).toBe(3);
    expect((await database!.run('SELECT * FROM workers')).rows).toEqual([]);
    await storage.close();
    await empty();
  });

  it('keeps the tasks of a server over a restart, serves those of another one, and appears in the doctor', async () => {
    const own = await server!.database();
    const settings = { storage: { url: own.url }, vault: { passphrase: 'correct horse battery' } };
    let taskId = '';
    await withServer({ settings }, async (first) => {
      const sent = await sendText(first, 'hello');
      expect(sent.end.state).toBe('completed');
      await withServer({ settings }, async (second) => {
        expect(await second.client.get(sent)).toMatchObject({ state: 'completed' });
      });
      ({ taskId } = sent);
    });
    await withServer({ settings }, async (again) => {
      expect(await again.client.get({ taskId })).toMatchObject({ state: 'completed' });
      expect((await sendText(again, 'hello')).end.state).toBe('completed');
    });
    const home = await makeHome('server: { port: 0 }');
    const env = { ...home.env, LANGO_DATABASE_URL: own.url };
    const { stdout } = await lango(['doctor'], { env });
    expect(stdout).toMatch(/^ok {4}database: PostgreSQL \d+.*, schema 12, page checksums o/m);
    expect((await lango(['backup', 'x'], { env })).stderr).toContain('use pg_dump');
    await home.remove();
    await own.drop();
  });

  it('does not lose a run whose slow commit is still open when leases are renewed', async () => {
    const own = await server!.database();
    const settings = { storage: { url: own.url }, vault: { passphrase: 'correct horse battery' } };
    await withServer({ settings }, async (first) => {
      await own.run('BEGIN; LOCK TABLE inbox IN EXCLUSIVE MODE');
      const sent = sendText(first, 'hello');
      await sleep(2 * LEASE_RENEW_MS);
      await own.run('COMMIT');
      expect((await sent).end.state).toBe('completed');
      const { rows } = await own.run(
        `SELECT max(attempt[1]::int) AS n FROM events, regexp_matches(body, '"type":"run-start","attempt":(\\d+)', 'g') AS attempt`,
      );
      expect(rows).toEqual([{ n: 1 }]);
    });
    await own.drop();
  });

  // pg_dump reads no newer server than itself.
  if (process.env['LANGO_TEST_DATABASE_URL'] !== undefined) {
    it('is restored from a dump, as the guide says', async () => {
      const [own, restored] = [await server!.database(), await server!.database()];
      const dump = path.join(await mkdtemp(path.join(tmpdir(), 'lango-dump-')), 'lango.dump');
      const settings = (url: string) => ({
        storage: { url },
        vault: { passphrase: 'correct horse battery' },
      });
      let taskId = '';
      await withServer({ settings: settings(own.url) }, async (first) => {
        ({ taskId } = await sendText(first, 'hello'));
      });
      await promisify(execFile)('pg_dump', ['--format', 'custom', '--file', dump, own.url]);
      await promisify(execFile)('pg_restore', ['--no-owner', '--dbname', restored.url, dump]);
      await withServer({ settings: settings(restored.url) }, async (again) => {
        expect(await again.client.get({ taskId })).toMatchObject({ state: 'completed' });
        expect((await sendText(again, 'hello')).end.state).toBe('completed');
      });
      await rm(path.dirname(dump), { recursive: true });
      await Promise.all([own.drop(), restored.drop()]);
    });
  }
});

const lockOf = (worker: string) =>
  `FROM workers JOIN pg_locks ON locktype = 'advisory' AND objid = lock::oid AND granted WHERE name = '${worker}'`;

/** Whether the process with this name in leases holds its lock. */
async function isLocked(worker: string): Promise<boolean> {
  return (await database!.run(`SELECT 1 ${lockOf(worker)}`)).rows.length > 0;
}

/** Resolves once the server has ended the session that holds the lock of this process. */
async function endSession(worker: string): Promise<void> {
  const { rows } = await database!.run(`SELECT pg_terminate_backend(pid, 100000) AS ended ${lockOf(worker)}`);
  expect(rows).toEqual([{ ended: true }]);
}

/** Resolves with the id of the task that got an event of this number. */
function untilHeard(tasks: TaskStore, number: number): Promise<string> {
  return new Promise((resolve) => {
    tasks.onAppend((taskId, head) => {
      if (head === number) resolve(taskId);
    });
  });
}

/** The suites of every database take a minute, so they run in campaigns. */
function runSuites(): void {
  taskStoreSuite('postgres', open);
  if (process.env['LANGO_TEST_POOLER_URL'] !== undefined)
    taskStoreSuite('postgres behind PgBouncer', openPooled);
  paymentStoreSuite('postgres', open);
  pushStoreSuite('postgres', open);
  retentionStoreSuite('postgres', open);
  traceStoreSuite('postgres', open);
  spendingStoreSuite('postgres', open);
  knowledgeStoreSuite('postgres', openOne);
  libraryStoreSuite('postgres', openOne);
  graphStoreSuite('postgres', openOne);
  extractionStoreSuite('postgres', openOne);
  memoryStoreSuite('postgres', openOne);
  vaultStoreSuite('postgres', openOne);
}
