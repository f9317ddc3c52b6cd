import type { StreamResponse } from '@a2a-js/sdk';
import { Task, TaskState } from '@a2a-js/sdk';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { TaskReading } from '../../../src/a2a/server/task-reading.js';
import { newId } from '../../../src/core/ids.js';
import { textPart } from '../../../src/core/message.js';
import { request } from '../../suites/a2a-operations.js';
import { TOKEN } from '../../support/a2a-node.js';
import type { Way } from '../../support/a2a-transports.js';
import { remoteWaysTo } from '../../support/a2a-transports.js';
import type { Received } from '../../support/push-receiver.js';
import { PushReceiver, answerText, numbers, states } from '../../support/push-receiver.js';
import type { PushServer } from '../../support/push-server.js';
import { startPushServer, withPushServer } from '../../support/push-server.js';
import { scriptedAgent } from '../../support/scripted-agent.js';

/** A push config created for an existing task first gets the Task, as a subscription does, then each further event. */

const CREATE = 'CreateTaskPushNotificationConfig';
const ASKING = 'TASK_STATE_INPUT_REQUIRED';
const END = 'TASK_STATE_COMPLETED';

interface TaskJson {
  readonly id: string;
  readonly status: { readonly state: string };
  readonly history: readonly { readonly parts: readonly { readonly text?: string }[] }[];
  readonly artifacts?: readonly { readonly parts: readonly { readonly text?: string }[] }[];
}

const taskIn = ({ body }: Received) => body['task'] as unknown as TaskJson | undefined;
const idOf = ({ headers }: Received): string => String(headers['x-a2a-notification-id']);
const hasEnded = (got: readonly Received[]): boolean =>
  got.some((one) => taskIn(one)?.status.state === END || states([one]).includes(END));

/** The text as a receiver assembles it from the Task and the events after it. */
function wholeText(got: readonly Received[]): string {
  const before = (taskIn(got[0]!)?.artifacts ?? []).flatMap(({ parts }) => parts.map(({ text }) => text));
  return before.join('') + answerText(got);
}

async function waiting(server: PushServer): Promise<string> {
  const taskId = await server.send('ask');
  await untilState(server, taskId, ASKING);
  return taskId;
}

async function untilState(server: PushServer, id: string, state: string): Promise<void> {
  while ((await server.rpc('GetTask', { id })).result['status']!['state'] !== state);
}

describe.each([0, 1, 2])('the first delivery of a push config that is created for a task', (index) => {
  let server: PushServer;
  let way: Way;
  beforeAll(async () => {
    const settings = { auth: { token: TOKEN }, server: { grpc: { enabled: true, port: 0 } } };
    server = await startPushServer({ settings });
    way = (await remoteWaysTo(server.address.origin, 'worker'))[index]!;
  });
  afterAll(() => server.stop());

  it(`is the Task that a subscription begins with, and its events follow: transport ${index}`, async () => {
    await using receivers = new AsyncDisposableStack();
    const two = [await PushReceiver.open(), await PushReceiver.open()];
    for (const receiver of two) receivers.use(receiver);
    const { id: taskId } = (await way.transport.sendMessage(request('ask'), way.options())) as Task;
    const config = { tenant: '', taskId, id: '', token: '', authentication: undefined };
    const events = way.transport.resubscribeTask({ tenant: '', id: taskId }, way.options());
    const first = (await events.next()).value as StreamResponse;
    await events.return(undefined);
    await Promise.all(
      two.map(({ url }) => way.transport.createTaskPushNotificationConfig({ ...config, url }, way.options())),
    );
    await Promise.all(two.map((receiver) => receiver.until((got) => got.length > 0)));
    await way.transport.sendMessage(request('say so it is', { taskId }), way.options());
    for (const receiver of two) {
      await receiver.untilEnd();
      const [snapshot, ...later] = receiver.got;
      if (first.payload?.$case !== 'task') throw new Error('a subscription begins with the Task');
      expect(first.payload.value.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
      expect(snapshot!.body).toEqual({ task: Task.toJSON(first.payload.value) });
      expect(later.some((one) => taskIn(one))).toBe(false);
      expect(states(later)).toEqual(['TASK_STATE_WORKING', END]);
      expect(answerText(later)).toBe('so it is');
      const seqs = numbers(receiver.got);
      expect(seqs).toEqual([...new Set(seqs)].sort((a, b) => a - b));
    }
    expect(new Set(two.flatMap(({ got }) => got.map(idOf))).size).toBe(two[0]!.got.length * 2);
  });
});

describe('the Task that is delivered to a push config', () => {
  it('is the same on each attempt, although the task has gone on', async () => {
    await using receiver = await PushReceiver.open();
    await withPushServer({}, async (server) => {
      const taskId = await waiting(server);
      receiver.answer = async (_received, number) => {
        if (number === 1) {
          await server.send('chunks 3', { taskId });
          await untilState(server, taskId, END);
        }
        return number <= 2 ? 500 : 200;
      };
      await server.rpc(CREATE, { taskId, url: receiver.url });
      await receiver.until(hasEnded, 'the end');
      const tries = receiver.got.slice(0, 3);
      expect(taskIn(tries[0]!)?.status.state).toBe(ASKING);
      expect(new Set(tries.map(idOf)).size).toBe(1);
      expect(new Set(tries.map(({ text }) => text)).size).toBe(1);
      const later = receiver.got.slice(3);
      expect(states(later)).toEqual(['TASK_STATE_WORKING', END]);
      expect(answerText(later)).toBe('<0><1><2>');
    });
  });

  it('is complete together with the events after it, whenever the config is created', async () => {
    const pieces = Array.from({ length: 30 }, (_, n) => `<${n}>`);
    const whole = pieces.join('');
    let hold = { at: -1, until: Promise.resolve() };
    const worker = scriptedAgent('worker', async (run) => {
      const { at, until } = hold;
      for (const [n, text] of pieces.entries()) {
        if (n === at) await until;
        await run.append({ type: 'text-delta', artifactId: 'answer', text, replace: n === 0 });
      }
      return { state: 'completed' };
    });
    await withPushServer({ push: { perHost: 16 }, agents: [worker] }, async (server) => {
      const kinds = new Set<string>();
      for (let round = 0; round < 24; round += 1) {
        await using receiver = await PushReceiver.open();
        const made = Promise.withResolvers<void>();
        // The config is created in the middle of the work, at a random moment, or at the end.
        hold = { at: round % 3 === 0 ? round : -1, until: made.promise };
        const taskId = await server.send('go');
        if (round % 3 === 1) await new Promise((resolve) => setTimeout(resolve, round / 4));
        if (round % 3 === 2) await untilState(server, taskId, END);
        await server.rpc(CREATE, { taskId, url: receiver.url });
        made.resolve();
        await receiver.until(hasEnded, 'the end');
        expect(receiver.got.map((one) => taskIn(one) !== undefined)).toEqual(
          receiver.got.map((_, at) => at === 0),
        );
        expect(wholeText(receiver.got)).toBe(whole);
        const { state } = taskIn(receiver.got[0]!)!.status;
        if (state === END) expect(receiver.got).toHaveLength(1);
        kinds.add(state === END ? 'after' : 'before');
      }
      expect([...kinds].sort()).toEqual(['after', 'before']);
    });
  });

  it('is delivered again when a config is replaced, and the later events follow', async () => {
    await using old = await PushReceiver.open();
    await using receiver = await PushReceiver.open();
    await withPushServer({}, async (server) => {
      const taskId = await waiting(server);
      await server.rpc(CREATE, { taskId, id: 'mine', url: old.url });
      await old.until((got) => got.length > 0);
      await server.rpc(CREATE, { taskId, id: 'mine', url: receiver.url });
      await receiver.until((got) => got.length > 0);
      expect(receiver.got[0]!.text).toBe(old.got[0]!.text);
      expect(idOf(receiver.got[0]!)).not.toBe(idOf(old.got[0]!));
      await server.send('say done', { taskId });
      await receiver.untilEnd();
      expect(states(receiver.got)).toEqual(['TASK_STATE_WORKING', END]);
      expect(old.got).toHaveLength(1);
    });
  });

  it('is not sent for a config inside a message, whose sender gets the Task in the response', async () => {
    await using receiver = await PushReceiver.open();
    await withPushServer({}, async (server) => {
      const taskId = await waiting(server);
      await server.send('say done', { taskId, push: { url: receiver.url } });
      await receiver.untilEnd();
      expect(receiver.got.some((one) => taskIn(one))).toBe(false);
    });
  });

  it('holds the 50 newest messages and every artifact', async () => {
    await using receiver = await PushReceiver.open();
    await withPushServer({}, async (server) => {
      const taskId = await waiting(server);
      for (let n = 0; n < 30; n += 1) {
        await server.send('ask', { taskId });
        await untilState(server, taskId, ASKING);
      }
      await server.rpc(CREATE, { taskId, url: receiver.url });
      await receiver.until((got) => got.length > 0);
      const { result } = await server.rpc('GetTask', { id: taskId });
      expect(result['history']!.length).toBeGreaterThan(60);
      expect(taskIn(receiver.got[0]!)!.history).toHaveLength(50);
    });
  });

  it('has the time of its message when the task has not begun', () => {
    const reading = new TaskReading({ id: 't', contextId: 'c' }, () => 'worker');
    const body = { type: 'message', message: { id: 'm', role: 'user', parts: [textPart('ask')] } } as const;
    reading.add({ taskId: 't', seq: 1, at: 1_000, author: undefined, body });
    const { status } = reading.toTask({ historyLength: undefined, includeArtifacts: true });
    expect(status).toMatchObject({
      state: TaskState.TASK_STATE_SUBMITTED,
      timestamp: new Date(1_000).toISOString(),
    });
  });

  it('is delivered although the process that stored the config has ended', async () => {
    await using receiver = await PushReceiver.open();
    const home = await mkdtemp(path.join(tmpdir(), 'lango-push-'));
    try {
      const first = await startPushServer({ home });
      receiver.answer = () => 'silence';
      const taskId = await waiting(first);
      await first.rpc(CREATE, { taskId, url: receiver.url });
      await receiver.until((got) => got.length === 1);
      await first.stop();
      receiver.answer = () => 200;
      await withPushServer({ home }, async (second) => {
        await receiver.until((got) => got.length === 2);
        expect(idOf(receiver.got[1]!)).toBe(idOf(receiver.got[0]!));
        expect(receiver.got[1]!.text).toBe(receiver.got[0]!.text);
        await second.send('say done', { taskId });
        await receiver.untilEnd();
        expect(receiver.got.filter((one) => taskIn(one))).toHaveLength(2);
      });
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  });

  it('is a Task of 0.3 for a config of 0.3, as each later delivery is', async () => {
    await using receiver = await PushReceiver.open();
    await withPushServer({}, async (server) => {
      const taskId = await waiting(server);
      const params = { taskId, pushNotificationConfig: { url: receiver.url } };
      const set = { jsonrpc: '2.0', id: newId(), method: 'tasks/pushNotificationConfig/set', params };
      const headers = { 'A2A-Version': '0.3' };
      await server.fetch('/agents/worker', { method: 'POST', headers, body: JSON.stringify(set) });
      await receiver.until((got) => got.length > 0);
      await server.send('say done', { taskId });
      const stateOf = ({ body }: Received) => (body['status'] as { readonly state?: string }).state;
      await receiver.until((got) => stateOf(got.at(-1)!) === 'completed', 'the end');
      for (const { body } of receiver.got) expect(body).toMatchObject({ kind: 'task', id: taskId });
      expect(receiver.got.map(stateOf)).toEqual(['input-required', 'working', 'working', 'completed']);
      const parts = [{ kind: 'text', text: 'done' }];
      expect(receiver.got.at(-1)!.body).toMatchObject({ artifacts: [{ parts }] });
    });
  });
});
