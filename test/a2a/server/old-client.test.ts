import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Message, Task } from 'a2a-sdk-v03';
import type { Client } from 'a2a-sdk-v03/client';
import {
  ClientFactory,
  ClientFactoryOptions,
  JsonRpcTransportFactory,
  RestTransportFactory,
  TaskNotCancelableError,
  TaskNotFoundError,
} from 'a2a-sdk-v03/client';
import { GrpcTransportFactory } from 'a2a-sdk-v03/client/grpc';
import { seqIn } from '../../../src/a2a/translate/extensions.js';
import { EXTENSIONS } from '../../../src/core/extensions.js';
import { newId } from '../../../src/core/ids.js';
import type { A2aNode } from '../../support/a2a-node.js';
import { TOKEN, startA2aNode } from '../../support/a2a-node.js';
import { taskIn } from '../../support/a2a-requests.js';
import { scriptedAgent } from '../../support/scripted-agent.js';

/** The published client of the SDK's 0.3 line, which knows nothing of 1.0. */

let node: A2aNode;

const TOOLS = { id: 'tools', name: 'Tools', description: 'For who is known.', tags: [], examples: [] };

beforeAll(async () => {
  const { profile, ...root } = scriptedAgent('lango-orchestrator');
  node = await startA2aNode({
    agents: [{ ...root, profile: { ...profile, extendedSkills: () => [TOOLS] } }, scriptedAgent('operator')],
    grpc: true,
    push: true,
  });
});

afterAll(() => node.stop());

const OPTIONS = {
  serviceParameters: { authorization: `Bearer ${TOKEN}`, 'x-a2a-extensions': EXTENSIONS.cursor },
};

type OldEvent = Extract<
  Awaited<ReturnType<ReturnType<Client['sendMessageStream']>['next']>>['value'],
  object
>;

function factory(transport: string): ClientFactory {
  return new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [new JsonRpcTransportFactory(), new RestTransportFactory(), new GrpcTransportFactory()],
      preferredTransports: [transport],
    }),
  );
}

function message(text: string, more: Partial<Message> = {}): { message: Message } {
  return {
    message: { kind: 'message', messageId: newId(), role: 'user', parts: [{ kind: 'text', text }], ...more },
  };
}

function answerOf(task: Task): string {
  const parts = (task.artifacts ?? []).flatMap((artifact) => artifact.parts);
  return parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');
}

async function collect(stream: AsyncIterable<OldEvent>): Promise<OldEvent[]> {
  const events: OldEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

describe.each(['JSONRPC', 'HTTP+JSON', 'GRPC'])('a client of A2A 0.3 over %s', (transport) => {
  let client: Client;

  beforeAll(async () => {
    client = await factory(transport).createFromUrl(node.origin);
  });

  const send = async (...sent: Parameters<typeof message>) =>
    (await client.sendMessage(message(...sent), OPTIONS)) as Task;

  const begin = async (): Promise<string> => {
    const { id } = (await client.sendMessage(
      { ...message('wait'), configuration: { blocking: false } },
      OPTIONS,
    )) as Task;
    await taskIn(node, id, 'working');
    return id;
  };

  it('X5 finds the root agent by the host alone, and reads its card for known callers', async () => {
    const card = await client.getAgentCard(OPTIONS);
    expect(card).toMatchObject({
      name: 'lango-orchestrator',
      protocolVersion: '0.3.0',
      preferredTransport: 'JSONRPC',
    });
    expect(card.skills.map(({ id }) => id)).toEqual(['orders', TOOLS.id]);
  });

  it('X5 sends a message and gets the finished task with its artifact', async () => {
    const task = await send('say good morning');
    expect(task).toMatchObject({ kind: 'task', status: { state: 'completed' } });
    expect(answerOf(task)).toBe('good morning');
    expect(task.history?.map(({ role }) => role)).toEqual(['user']);
  });

  it('X5 gets a file', async () => {
    const [artifact] = (await send('file')).artifacts!;
    expect(artifact?.parts[0]).toMatchObject({
      kind: 'file',
      file: { bytes: 'iVBORw0KGgo=', mimeType: 'image/png' },
    });
  });

  it('X5 streams a task: the task first, the end last and marked as final', async () => {
    const events = await collect(client.sendMessageStream(message('chunks 3'), OPTIONS));
    expect(events[0]?.kind).toBe('task');
    const text = events.flatMap((event) => (event.kind === 'artifact-update' ? event.artifact.parts : []));
    expect(text.map((part) => (part.kind === 'text' ? part.text : '')).join('')).toBe('<0><1><2>');
    expect(events.at(-1)).toMatchObject({
      kind: 'status-update',
      final: true,
      status: { state: 'completed' },
    });
    expect(events.slice(0, -1).some((event) => event.kind === 'status-update' && event.final)).toBe(false);
  });

  it('X5 streams up to a question, which is final for that stream', async () => {
    const events = await collect(client.sendMessageStream(message('ask'), OPTIONS));
    expect(events.at(-1)).toMatchObject({ final: true, status: { state: 'input-required' } });
  });

  it('X5 replies to a question in a second turn of the same task', async () => {
    const asked = await send('ask');
    expect(asked.status).toMatchObject({
      state: 'input-required',
      message: { parts: [{ kind: 'text', text: 'what shall I say?' }] },
    });
    const answered = await send('say hi', { taskId: asked.id });
    expect(answered).toMatchObject({ id: asked.id, status: { state: 'completed' } });
    expect(answered.history?.map(({ role }) => role)).toEqual(['user', 'agent', 'user']);
  });

  it('X5 streams the turn after its reply to a question', async () => {
    const { id } = await send('ask');
    const events = await collect(client.sendMessageStream(message('say hi', { taskId: id }), OPTIONS));
    expect(events.at(-1)).toMatchObject({ taskId: id, final: true, status: { state: 'completed' } });
  });

  it('X5 gets as much of the history as it asks for', async () => {
    const { id } = await send('ask');
    await send('say hi', { taskId: id });
    const roles = async (historyLength?: number) => {
      const asked = historyLength === undefined ? { id } : { id, historyLength };
      return ((await client.getTask(asked, OPTIONS)).history ?? []).map(({ role }) => role);
    };
    expect(await roles()).toEqual(['user', 'agent', 'user']);
    expect(await roles(2)).toEqual(['agent', 'user']);
    const configuration = { historyLength: 1 };
    const sent = await client.sendMessage({ ...message('say x'), configuration }, OPTIONS);
    expect((sent as Task).history).toHaveLength(1);
  });

  it('X5 sends data, bytes and a link, and gets them back unchanged', async () => {
    // The proto of 0.3, which HTTP+JSON and gRPC are written by, has no name for a file; its codec writes no null.
    const name = transport === 'JSONRPC' ? { name: 'bytes.txt' } : {};
    const parts: Message['parts'] = [
      { kind: 'data', data: { a: [1, transport === 'GRPC' ? 0 : null, 'x'], b: { c: true } } },
      { kind: 'file', file: { bytes: 'AP8K', mimeType: 'text/plain', ...name } },
      { kind: 'file', file: { uri: 'https://files.example/a.txt', mimeType: 'text/plain' } },
    ];
    const task = await send('', { parts: [{ kind: 'text', text: 'echo' }, ...parts] });
    expect(task.artifacts?.[0]?.parts).toMatchObject(parts);
    expect(task.history?.[0]?.parts.slice(1)).toMatchObject(parts);
  });

  it('X5 gets a task, and cancels one that runs', async () => {
    const id = await begin();
    expect(await client.getTask({ id }, OPTIONS)).toMatchObject({ id, status: { state: 'working' } });
    expect(await client.cancelTask({ id }, OPTIONS)).toMatchObject({ id, status: { state: 'canceled' } });
  });

  it('X5 subscribes again to a running task and sees its end', async () => {
    const id = await begin();
    const stream = client.resubscribeTask({ id }, OPTIONS);
    expect((await stream.next()).value).toMatchObject({ kind: 'task', id });
    const rest = collect(stream);
    await client.cancelTask({ id }, OPTIONS);
    expect((await rest).at(-1)).toMatchObject({ final: true, status: { state: 'canceled' } });
  });

  it('X5 subscribes with a cursor, and gets the later events or the error of 1.0', async () => {
    const replay = (id: string, after: string) =>
      collect(
        client.resubscribeTask(
          { id },
          { serviceParameters: { ...OPTIONS.serviceParameters, 'last-event-id': after } },
        ),
      );
    const [first, ...rest] = await collect(client.sendMessageStream(message('chunks 3'), OPTIONS));
    const { id } = first as Task;
    const after = String(seqIn(first!.metadata));
    expect(rest.length).toBeGreaterThan(3);
    expect(await replay(id, after)).toEqual(rest);
    expect(await replay(id, String(seqIn(rest.at(-1)!.metadata)))).toEqual([]);
    await expect(replay(newId(), after)).rejects.toThrow(/There is no task/);
    await expect(replay(id, '999')).rejects.toThrow(/999 is ahead of the task/);
    await expect(replay(id, 'soon')).rejects.toThrow(/must be the number of an event/);
  });

  it('X5 makes, reads, lists and deletes push configs', async () => {
    const { id } = await send('ask');
    const config = (name: string) => ({ id: name, url: 'https://receiver.example/hook' });
    const set = (name: string) =>
      client.setTaskPushNotificationConfig({ taskId: id, pushNotificationConfig: config(name) }, OPTIONS);
    expect(await set('a')).toMatchObject({ taskId: id, pushNotificationConfig: config('a') });
    await set('b');
    const one = { id, pushNotificationConfigId: 'b' };
    expect(await client.getTaskPushNotificationConfig(one, OPTIONS)).toMatchObject({
      pushNotificationConfig: config('b'),
    });
    const listed = () => client.listTaskPushNotificationConfig({ id }, OPTIONS);
    expect((await listed()).map((each) => each.pushNotificationConfig.id)).toEqual(['a', 'b']);
    await client.deleteTaskPushNotificationConfig(one, OPTIONS);
    expect((await listed()).map((each) => each.pushNotificationConfig.id)).toEqual(['a']);
    await expect(client.getTaskPushNotificationConfig(one, OPTIONS)).rejects.toBeInstanceOf(missing);
  });

  it('X5 sends a push config inside a message', async () => {
    const config = { id: 'a', url: 'https://receiver.example/hook', token: 'for-the-receiver' };
    const sent = await client.sendMessage(
      { ...message('ask'), configuration: { blocking: false, pushNotificationConfig: config } },
      OPTIONS,
    );
    const listed = await client.listTaskPushNotificationConfig({ id: (sent as Task).id }, OPTIONS);
    const kept = listed.map(({ pushNotificationConfig: { id, url } }) => ({ id, url }));
    expect(kept).toEqual([{ id: 'a', url: config.url }]);
  });

  // Over gRPC this client reads the status only, not the error of A2A behind it.
  const [missing, ended] =
    transport === 'GRPC' ? [Error, Error] : [TaskNotFoundError, TaskNotCancelableError];

  it('X5 gets the typed errors of the protocol', async () => {
    await expect(client.getTask({ id: newId() }, OPTIONS)).rejects.toBeInstanceOf(missing);
    // The clients of other languages read the name of the error in the status.
    if (transport === 'GRPC')
      await expect(client.getTask({ id: newId() }, OPTIONS)).rejects.toThrow('TaskNotFoundError: ');
    const { id } = await send('say done');
    await expect(client.cancelTask({ id }, OPTIONS)).rejects.toBeInstanceOf(ended);
    await expect(send('', { parts: [] })).rejects.toThrow(/at least one part/);
    await expect(send('', { role: 'agent' })).rejects.toThrow(/role/);
  });
});

describe('a client of A2A 0.3', () => {
  it('X5 reaches every agent by its own card, over HTTP', async () => {
    for (const transport of ['JSONRPC', 'HTTP+JSON']) {
      const client = await factory(transport).createFromUrl(
        `${node.origin}/agents/operator/.well-known/agent-card.json`,
        '',
      );
      expect((await client.getAgentCard(OPTIONS)).name).toBe('operator');
      expect(answerOf((await client.sendMessage(message('say hello'), OPTIONS)) as Task)).toBe('hello');
    }
  });
});
