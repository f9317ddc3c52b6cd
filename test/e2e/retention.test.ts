import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { LegacyA2AService } from '@a2a-js/sdk/compat/v0_3/server/grpc';
import type { ServiceError } from '@grpc/grpc-js';
import { Client, Metadata, credentials, status } from '@grpc/grpc-js';
import Database from 'better-sqlite3';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fromWireError } from '../../src/a2a/translate/errors.js';
import { silentLogger } from '../../src/core/logger.js';
import { openSqliteStorage } from '../../src/storage/sqlite/storage.js';
import { lango, makeHome, startServer as startProcess } from '../cli/lango-process.js';
import type { Home } from '../cli/lango-process.js';
import { remoteWaysTo } from '../support/a2a-transports.js';
import type { PushServer } from '../support/push-server.js';
import { withPushServer } from '../support/push-server.js';
import { scriptedAgent } from '../support/scripted-agent.js';
import { sendText } from '../support/server.js';
import { acceptOne, delta, fenceOf, runEnd } from '../suites/task-store-fixtures.js';

/** The removal of tasks: by their age, and on request of their owner. */

const KILLS = process.env['LANGO_CAMPAIGN'] === '1' ? 20 : 4;
const DAY_MS = 24 * 60 * 60 * 1_000;
const NOT_FOUND = -32001;

const realNow = Date.now;
afterEach(() => {
  jest.restoreAllMocks();
});

/** Sets the machine's clock so many days later. */
function daysLater(days: number): void {
  jest.restoreAllMocks();
  jest.spyOn(Date, 'now').mockImplementation(() => realNow() + days * DAY_MS);
}

async function withHome(use: (home: string) => Promise<void>): Promise<void> {
  const home = await mkdtemp(path.join(tmpdir(), 'lango-retention-'));
  try {
    await use(home);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

async function untilState(server: PushServer, id: string, state: string): Promise<void> {
  for (;;) {
    const { result } = await server.rpc('GetTask', { id });
    if (String(result['status']!['state']) === state) return;
    await sleep(10);
  }
}

async function untilGone(server: PushServer, id: string, agent?: string): Promise<void> {
  while (!(await server.rpc('GetTask', { id }, agent)).error) await sleep(10);
}

/** The error of 0.3 over gRPC for a subscription from a cursor on. */
function subscribeTheOldWay({ address }: PushServer, id: string): Promise<ServiceError> {
  const client = new Client(`127.0.0.1:${address.grpcPort}`, credentials.createInsecure());
  const { path: method, requestSerialize, responseDeserialize } = LegacyA2AService.taskSubscription;
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${address.token}`);
  metadata.set('last-event-id', '2');
  const stream = client.makeServerStreamRequest(
    ...([method, requestSerialize, responseDeserialize, { name: `tasks/${id}` }, metadata] as const),
  );
  return new Promise((resolve) => {
    stream.resume().on('error', (error: ServiceError) => {
      client.close();
      resolve(error);
    });
  });
}

describe('a task that ended before the retention time', () => {
  it('is removed with its artifacts, idempotency rows and push configs, while a task that waits for a person stays', async () => {
    await withHome(async (home) => {
      let old = '';
      let waiting = '';
      await withPushServer({ home }, async (server) => {
        old = await server.send('say hi', { messageId: 'm-1' });
        waiting = await server.send('ask', { push: { id: 'hook', url: 'http://127.0.0.1:9/' } });
        await untilState(server, old, 'TASK_STATE_COMPLETED');
        await untilState(server, waiting, 'TASK_STATE_INPUT_REQUIRED');
      });
      daysLater(89);
      await withPushServer({ home }, async (server) => {
        await sleep(200);
        expect((await server.rpc('GetTask', { id: old })).result['artifacts']).toHaveLength(1);
      });
      daysLater(91);
      await withPushServer({ home }, async (server) => {
        await untilGone(server, old);
        expect((await server.rpc('GetTask', { id: old })).error).toMatchObject({ code: NOT_FOUND });
        expect((await server.rest('GET', `/tasks/${old}`)).status).toBe(404);
        expect((await server.rpc('ListTasks', {})).result['tasks']).toMatchObject([{ id: waiting }]);
        const push = { taskId: old, url: 'https://receiver.example/' };
        const made = await server.rpc('CreateTaskPushNotificationConfig', push);
        expect(made.error).toMatchObject({ code: NOT_FOUND });
        const again = await server.send('say hi', { messageId: 'm-1' });
        expect(again).not.toBe(old);
      });
    });
  });

  it('makes an old cursor "not found", on every way to subscribe, in 1.0 and 0.3', async () => {
    await withHome(async (home) => {
      let old = '';
      let ofRoot = '';
      await withPushServer({ home }, async (server) => {
        old = await server.send('say hi');
        ofRoot = (await sendText(server, 'hello')).taskId;
        await untilState(server, old, 'TASK_STATE_COMPLETED');
      });
      daysLater(91);
      const settings = { server: { grpc: { enabled: true, port: 0 } } };
      await withPushServer({ home, settings }, async (server) => {
        await untilGone(server, old);
        const saying = { token: server.address.token!, after: 2 };
        for (const { name, ...way } of await remoteWaysTo(server.address.origin, 'worker')) {
          const stream = way.transport.resubscribeTask({ tenant: '', id: old }, way.options(saying));
          const failure: unknown = await stream.next().catch((error: unknown) => error);
          expect([name, fromWireError(failure).code]).toEqual([name, 'not-found']);
        }
        const headers = { 'last-event-id': '2' };
        const rest = await server.fetch(`/agents/worker/v1/tasks/${old}:subscribe`, { headers });
        expect(rest.status).toBe(404);
        const body = JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'tasks/resubscribe',
          params: { id: old },
        });
        const rpc = await server.fetch('/agents/worker', { method: 'POST', headers, body });
        expect(await rpc.text()).toContain(String(NOT_FOUND));
        await untilGone(server, ofRoot, server.address.root);
        expect((await subscribeTheOldWay(server, ofRoot)).code).toBe(status.NOT_FOUND);
      });
    });
  });

  it('stays forever with tasks.retentionDays: 0', async () => {
    await withHome(async (home) => {
      let old = '';
      const settings = { tasks: { retentionDays: 0 } };
      await withPushServer({ home, settings }, async (server) => {
        old = await server.send('say hi');
        await untilState(server, old, 'TASK_STATE_COMPLETED');
      });
      daysLater(36_000);
      await withPushServer({ home, settings }, async (server) => {
        await sleep(200);
        expect((await server.rpc('GetTask', { id: old })).error).toBeUndefined();
      });
    });
  });

  it('is removed completely although the server is killed repeatedly during the removal', async () => {
    const home = await makeHome();
    try {
      const { kept } = await seed(path.join(home.folder, 'lango.db'));
      let interrupted = 0;
      for (let life = 0; life < KILLS; life += 1) {
        const server = await startProcess(home);
        // The first server is killed once the removal of a task has begun, the others at a random moment.
        while (life === 0 && count(home, 'removed_tasks') === 0) await sleep(1);
        await sleep(life === 0 ? 0 : Math.random() * 60);
        server.child.kill('SIGKILL');
        await server.stop();
        if (count(home, 'removed_tasks') > 0) interrupted += 1;
      }
      const server = await startProcess(home);
      while (count(home, 'events') > kept * 2) await sleep(20);
      while (count(home, 'removed_tasks') > 0) await sleep(20);
      await server.stop();
      expect(interrupted).toBeGreaterThan(0);
      expect(count(home, 'tasks')).toBe(kept);
      const unmoved = "tasks WHERE key > (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'inbox_moved')";
      expect(count(home, 'inbox') + count(home, unmoved)).toBe(kept);
      expect(count(home, 'events WHERE task NOT IN (SELECT key FROM tasks)')).toBe(0);
    } finally {
      await home.remove();
    }
  });
});

describe('the tasks of a caller', () => {
  it('are exported and deleted with all other data of the caller, and of nobody else', async () => {
    await withHome(async (home) => {
      await withPushServer(
        { home, agents: ['one', 'two'].map((name) => scriptedAgent(name)) },
        async (server) => {
          const send = async (agent: string, text: string) => {
            const message = { messageId: text, role: 'ROLE_USER', parts: [{ text }] };
            const configuration = { returnImmediately: text === 'wait' };
            return (await server.rpc('SendMessage', { message, configuration }, agent)).result['task']!;
          };
          for (let n = 0; n < 25; n += 1) await send('one', `say hi ${n}`);
          await send('two', 'ask');
          await send('two', 'wait');
          const env = { LANGO_HOME: home, LANGO_URL: server.address.origin };
          const file = path.join(home, 'export.json');
          const exported = await lango(['data', 'export', '--out', file], { env });
          expect(exported.stdout).toContain('tasks 27');
          const { tasks } = JSON.parse(await readFile(file, 'utf8')) as { readonly tasks: readonly object[] };
          expect(new Set(tasks.map((task) => (task as { readonly id: string }).id)).size).toBe(27);
          expect(JSON.stringify(tasks)).toContain('hi 24');
          const deleted = await lango(['data', 'delete', '--yes', '--json'], { env });
          expect(JSON.parse(deleted.stdout)).toMatchObject({ deleted: { tasks: 27 } });
          expect((await server.rpc('ListTasks', {}, 'one')).result['totalSize']).toBe(0);
          expect((await server.rpc('ListTasks', {}, 'two')).result['totalSize']).toBe(0);
          expect((await server.fetch('/lango/data/tasks?after=x')).status).toBe(400);
        },
      );
    });
  });
});

/** Sixty tasks of a hundred days ago, with many events, and three that wait for a person. */
async function seed(file: string): Promise<{ readonly kept: number }> {
  await writeFile(file, '');
  const now = () => realNow() - 100 * DAY_MS;
  const storage = openSqliteStorage({ file, synchronous: 'normal', logger: silentLogger, now });
  const { tasks } = storage;
  for (let n = 0; n < 63; n += 1) {
    const task = await acceptOne(tasks, { scope: { tenant: '', owner: 'default' } });
    if (n >= 60) {
      await tasks.append(fenceOf(task), [runEnd('input-required')]);
      continue;
    }
    await tasks.append(fenceOf(task), [delta('some words'), runEnd('completed')]);
  }
  await storage.close();
  const database = new Database(file);
  database.exec(`INSERT INTO events (task, seq, at, type, body)
      WITH RECURSIVE more(seq) AS (SELECT 4 UNION ALL SELECT seq + 1 FROM more WHERE seq < 3000)
      SELECT key, seq, 0, 'text-delta', '{"type":"text-delta"}' FROM tasks, more WHERE state = 'completed';
    UPDATE tasks SET head = 3000 WHERE state = 'completed'`);
  database.close();
  return { kept: 3 };
}

function count(home: Home, from: string): number {
  const database = new Database(path.join(home.folder, 'lango.db'), { readonly: true });
  try {
    return Number(database.prepare(`SELECT count(*) FROM ${from}`).pluck().get());
  } finally {
    database.close();
  }
}
