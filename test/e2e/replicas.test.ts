import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StreamResponse, Task } from '@a2a-js/sdk';
import { TaskState } from '@a2a-js/sdk';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { JsonObject } from '../../src/core/json.js';
import { evaluate, type ServerOptions } from '../../src/index.js';
import { langoHere } from '../cli/lango-here.js';
import { request } from '../suites/a2a-operations.js';
import { TOKEN } from '../support/a2a-node.js';
import type { Way } from '../support/a2a-transports.js';
import { remoteWaysTo } from '../support/a2a-transports.js';
import { startPostgres } from '../support/postgres.js';
import { PushReceiver, answerText } from '../support/push-receiver.js';
import { followOrders, scriptedAgent, type Script } from '../support/scripted-agent.js';
import type { TestServer } from '../support/server.js';
import { sendText, startServer } from '../support/server.js';

const CHUNKS = 20;

/** "slow" emits chunks one by one; every other order runs as `followOrders` does. */
const script: Script = async (run, text) => {
  if (text !== 'slow') return followOrders(run, text);
  for (let i = 0; i < CHUNKS; i += 1) {
    await sleep(30);
    await run.append({ type: 'text-delta', artifactId: 'answer', text: `<${i}>`, replace: i === 0 });
  }
  return { state: 'completed' };
};

const server = await startPostgres();

/** Two servers on one PostgreSQL: the second one serves the tasks that the first one runs. */
(server ? describe : describe.skip)('replicas', () => {
  let runs: TestServer;
  let answers: TestServer;
  let own: Way;
  let others: readonly Way[];
  let settings: NonNullable<ServerOptions['settings']>;
  const agents = [scriptedAgent('worker', script)];

  beforeAll(async () => {
    const { url } = await server!.database();
    settings = {
      server: { port: 0, grpc: { enabled: true, port: 0 } },
      auth: { token: TOKEN },
      storage: { url },
      vault: { passphrase: 'the same on each replica' },
      egress: { allowPrivate: ['receiver.example', '127.0.0.1'] },
      mcp: { serve: true },
    };
    runs = await startServer({ settings, agents });
    answers = await startServer({ settings, agents });
    [own] = (await remoteWaysTo(runs.address.origin, 'worker')) as [Way];
    others = await remoteWaysTo(answers.address.origin, 'worker');
  });
  afterAll(async () => {
    await Promise.all([runs.stop(), answers.stop()]);
    await server!.stop();
  });

  const begin = async (text: string) => {
    const sent = request(text, {}, { returnImmediately: true });
    return (await own.transport.sendMessage(sent, own.options())) as Task;
  };
  const get = (way: Way, id: string) => way.transport.getTask({ tenant: '', id }, way.options());
  const stateOf = async (way: Way, id: string) => (await get(way, id)).status!.state;
  const until = async (way: Way, id: string, state: TaskState) => {
    while ((await stateOf(way, id)) !== state) await sleep(20);
  };

  it('X8 serve a call over MCP that another one runs: reply, read and cancel', async () => {
    const [first, second] = await Promise.all(
      [runs, answers].map(({ address }) => mcpClient(address.origin)),
    );
    const call = async (client: Client, given: JsonObject) =>
      (await client.callTool({ name: 'worker', arguments: given })) as unknown as JsonObject;
    const waits = { message: 'ask', messageId: 'over-mcp' };
    const asked = (await call(first!, waits)) as { structuredContent: { taskId: string } };
    const { taskId } = asked.structuredContent;
    expect(await call(second!, waits)).toMatchObject({ structuredContent: { taskId } });
    const text = 'so it is';
    const said = await call(second!, { taskId, message: `say ${text}` });
    expect(said).toMatchObject({ content: [{ type: 'text', text }], structuredContent: { taskId } });
    expect(await call(first!, { taskId })).toMatchObject({ content: [{ type: 'text', text }] });
    const { id } = await begin('wait');
    await until(own, id, TaskState.TASK_STATE_WORKING);
    expect(await call(second!, { taskId: id, cancel: true })).toMatchObject({ isError: true });
    expect(await stateOf(own, id)).toBe(TaskState.TASK_STATE_CANCELED);
    await Promise.all([first!.close(), second!.close()]);
  });

  it('export, evaluate and fork a task that another one ran', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'lango-replicas-'));
    const { taskId } = await sendText(runs, 'Hello!');
    const env = { LANGO_URL: answers.address.origin, LANGO_TOKEN: TOKEN };
    const lango = async (...args: string[]) => {
      const { code, stdout, stderr } = await langoHere(args, { env });
      if (code !== 0) throw new Error(stderr);
      return stdout;
    };
    await lango('eval', 'new', '--from', 'state=completed agent=lango-orchestrator', '--out', folder);
    const { passed, results } = await evaluate(folder);
    expect([passed, results.map((one) => one.taskId)]).toEqual([true, [taskId]]);
    const forked = JSON.parse(await lango('fork', taskId, '--at', '1', '--json')) as { taskId: string };
    expect(await lango('tasks', 'watch', forked.taskId)).not.toBe('');
    expect(await lango('replay', forked.taskId)).toContain('Identical');
    await rm(folder, { recursive: true });
  });

  for (const [index, name] of (['JSONRPC', 'HTTP+JSON', 'GRPC'] as const).entries()) {
    describe(`a task of another replica, over ${name}`, () => {
      const way = () => others[index]!;

      it('is found by get and list, and streamed after a cursor', async () => {
        const { id, contextId } = await begin('slow');
        expect(way().name).toBe(name);
        await until(way(), id, TaskState.TASK_STATE_WORKING);
        const { tasks } = await way().transport.listTasks(
          { tenant: '', contextId, status: 0, pageToken: '', statusTimestampAfter: undefined },
          way().options(),
        );
        expect(tasks.map((task) => task.id)).toEqual([id]);
        const shown = await Promise.all([own, way()].map((one) => replay(one, id)));
        expect(shown[1]).toEqual(shown[0]);
        expect(shown[1]!.join('')).toContain(Array.from({ length: CHUNKS }, (_, i) => `<${i}>`).join(''));
      });

      it('gets a message while it runs, and one while it waits', async () => {
        const working = await begin('slow');
        const more = request('say more', { taskId: working.id }, { returnImmediately: true });
        await way().transport.sendMessage(more, way().options());
        await until(own, working.id, TaskState.TASK_STATE_COMPLETED);
        expect(JSON.stringify((await get(own, working.id)).artifacts)).toContain('more');
        const waiting = await begin('ask');
        await until(way(), waiting.id, TaskState.TASK_STATE_INPUT_REQUIRED);
        const answer = await way().transport.sendMessage(
          request('say so', { taskId: waiting.id }),
          way().options(),
        );
        expect(answer).toMatchObject({ id: waiting.id, status: { state: TaskState.TASK_STATE_COMPLETED } });
      });

      it('is canceled', async () => {
        const { id } = await begin('wait');
        await until(way(), id, TaskState.TASK_STATE_WORKING);
        const canceled = await way().transport.cancelTask(
          { tenant: '', id, metadata: undefined },
          way().options(),
        );
        expect(canceled.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
        expect(await stateOf(own, id)).toBe(TaskState.TASK_STATE_CANCELED);
      });

      it('has push configs, which the other replica lists too', async () => {
        const { id: taskId } = await begin('ask');
        const config = { tenant: '', taskId, id: 'a', token: '', authentication: undefined };
        const made = { ...config, url: 'https://receiver.example/hook' };
        await way().transport.createTaskPushNotificationConfig(made, way().options());
        const list = async (one: Way) => {
          const asked = { tenant: '', taskId, pageSize: 0, pageToken: '' };
          const { configs } = await one.transport.listTaskPushNotificationConfig(asked, one.options());
          return configs.map(({ id }) => id);
        };
        expect(await list(own)).toEqual(['a']);
        await way().transport.deleteTaskPushNotificationConfig(
          { tenant: '', taskId, id: 'a' },
          way().options(),
        );
        expect(await list(own)).toEqual([]);
      });

      it('has a push config that gets the Task and the later events, also when its server stops', async () => {
        await using receiver = await PushReceiver.open();
        const stops = await startServer({ settings, agents });
        const { id: taskId } = await begin('ask');
        await until(own, taskId, TaskState.TASK_STATE_INPUT_REQUIRED);
        const config = { tenant: '', taskId, id: '', token: '', authentication: undefined };
        receiver.answer = (_received, number) => (number === 1 ? 'silence' : 200);
        const at = (await remoteWaysTo(stops.address.origin, 'worker'))[index]!;
        try {
          await at.transport.createTaskPushNotificationConfig({ ...config, url: receiver.url }, at.options());
          await receiver.until((got) => got.length > 0);
        } finally {
          await stops.stop();
        }
        await receiver.until((got) => got.length > 1, 'the other server');
        const [first, again] = receiver.got;
        expect(again!.text).toBe(first!.text);
        expect(again!.headers['x-a2a-notification-id']).toBe(first!.headers['x-a2a-notification-id']);
        expect(first!.body['task']).toMatchObject({ status: { state: 'TASK_STATE_INPUT_REQUIRED' } });
        await own.transport.sendMessage(request('say so', { taskId }), own.options());
        await receiver.untilEnd();
        expect(answerText(receiver.got)).toBe('so');
      });
    });
  }
});

async function mcpClient(origin: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { capabilities: {} });
  const requestInit = { headers: { authorization: `Bearer ${TOKEN}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${origin}/mcp`), { requestInit }));
  return client;
}

/** All texts of a task after its first event, as a stream shows them until its end. */
async function replay(way: Way, id: string): Promise<readonly string[]> {
  const texts: string[] = [];
  for await (const { payload } of way.transport.resubscribeTask(
    { tenant: '', id },
    way.options({ after: 1 }),
  ) as AsyncIterable<StreamResponse>) {
    if (payload?.$case !== 'artifactUpdate') continue;
    for (const { content } of payload.value.artifact?.parts ?? [])
      if (content?.$case === 'text') texts.push(content.value);
  }
  return texts;
}
