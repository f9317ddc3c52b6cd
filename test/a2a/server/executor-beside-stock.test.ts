import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Message, Part, Task, TaskStatus } from '@a2a-js/sdk';
import { Message as MessageCodec, Role, SendMessageResponse, StreamResponse, TaskState } from '@a2a-js/sdk';
import { SendMessageConfiguration, Task as TaskCodec } from '@a2a-js/sdk';
import { AgentEvent } from '@a2a-js/sdk/server';
import type { RequestContext } from '@a2a-js/sdk/server';
import { EXTENSIONS } from '../../../src/core/extensions.js';
import { sseEvents } from '../../support/a2a-requests.js';
import { hushConsole } from '../beside-stock/console.js';
import type { Play } from '../beside-stock/puppet.js';
import type { Side } from '../beside-stock/sides.js';
import { message, openOurs, openStock, untilIn } from '../beside-stock/sides.js';

/** Line 10 of issue 14: a client and an executor see the same behind our server as behind the stock one. */

const EXTENSION = 'urn:someone:ext';

function part(content: Part['content'], more: Partial<Part> = {}): Part {
  return { content, metadata: undefined, filename: '', mediaType: '', ...more };
}

const text = (value: string, more: Partial<Part> = {}): Part => part({ $case: 'text', value }, more);

const FULL: readonly Part[] = [
  text('see', { mediaType: 'text/markdown', metadata: { tone: 'dry' } }),
  part(
    { $case: 'data', value: { rows: [1, null, { deep: true }] } },
    { mediaType: 'application/vnd.x+json' },
  ),
  part({ $case: 'data', value: null }),
  part({ $case: 'raw', value: Buffer.from('png') }, { filename: 'p.png', mediaType: 'image/png' }),
  part({ $case: 'url', value: 'https://a.example/b' }, { filename: 'b', metadata: { size: 3 } }),
];

function said(context: RequestContext, messageId: string, parts = FULL): Message {
  const { taskId, contextId } = context;
  return {
    ...{ messageId, taskId, contextId, role: Role.ROLE_AGENT, parts: [...parts] },
    ...{ metadata: { said: messageId }, extensions: [EXTENSION], referenceTaskIds: ['t-1', 't-2'] },
  };
}

function status(state: TaskState, spoken?: Message): TaskStatus {
  return { state, message: spoken, timestamp: new Date().toISOString() };
}

/** Publishes every event that an executor can publish for a task, and asks one question. */
const everything: Play = async ({ bus, context, asked }) => {
  const { taskId, contextId, userMessage } = context;
  const place = { taskId, contextId };
  const update = (state: TaskState, spoken?: Message, metadata?: object) =>
    bus.publish(AgentEvent.statusUpdate({ ...place, status: status(state, spoken), metadata: metadata }));
  const chunk = (parts: readonly Part[], more: object = {}, head: object = {}) =>
    bus.publish(
      AgentEvent.artifactUpdate({
        ...{ ...place, append: false, lastChunk: false, metadata: undefined, ...more },
        artifact: {
          ...{ artifactId: 'report', name: '', description: '', parts: [...parts] },
          ...{ metadata: undefined, extensions: [], ...head },
        },
      }),
    );
  if (!context.task) {
    const artifact = {
      artifactId: 'early',
      name: 'early.txt',
      description: 'Early.',
      extensions: [EXTENSION],
    };
    bus.publish(
      AgentEvent.task({
        ...{ id: taskId, contextId, status: status(TaskState.TASK_STATE_SUBMITTED) },
        artifacts: [{ ...artifact, parts: [text('early')], metadata: { from: 'task' } }],
        history: [userMessage, said(context, 'in-history', [text('before')])],
        metadata: { task: 1 },
      }),
    );
    update(TaskState.TASK_STATE_WORKING);
    update(TaskState.TASK_STATE_WORKING, said(context, 'first'), { event: 'first' });
    update(TaskState.TASK_STATE_WORKING, undefined, { event: 'bare', more: [1] });
    if (asked === 'go') {
      update(TaskState.TASK_STATE_INPUT_REQUIRED, said(context, 'question'), { event: 'question' });
      bus.finished();
      return;
    }
  }
  update(TaskState.TASK_STATE_WORKING);
  const head = { name: 'report.md', description: 'A report.', metadata: { v: 1 }, extensions: [EXTENSION] };
  chunk([text('one ')], { metadata: { chunk: 1 } }, head);
  chunk([text('two ')], { append: true }, { name: 'report.md' });
  chunk(FULL, { append: true }, { metadata: { w: 2 } });
  chunk([text('end')], { append: true, lastChunk: true, metadata: { chunk: 'last' } });
  chunk([text('unnamed')], { lastChunk: true }, { artifactId: 'plain' });
  update(TaskState.TASK_STATE_COMPLETED, said(context, 'closing'), { event: 'closing' });
  bus.finished();
};

const repliesAtOnce: Play = ({ bus, context }) => {
  bus.publish(AgentEvent.message(said(context, 'reply')));
  bus.finished();
};

interface Transport {
  readonly name: string;
  send(side: Side, params: object): Promise<SendMessageResponse>;
  stream(side: Side, params: object): Promise<readonly StreamResponse[]>;
  get(side: Side, id: string): Promise<Task>;
}

const headers = { 'A2A-Extensions': EXTENSIONS.approval };

const TRANSPORTS: readonly Transport[] = [
  {
    name: 'JSON-RPC',
    send: async (side, params) =>
      SendMessageResponse.fromJSON((await side.rpc('SendMessage', params, { headers })).json.result),
    stream: async (side, params) =>
      sseEvents((await side.rpc('SendStreamingMessage', params, { headers })).text).map(({ data }) =>
        StreamResponse.fromJSON(data.result),
      ),
    get: async (side, id) => TaskCodec.fromJSON((await side.rpc('GetTask', { id })).json.result),
  },
  {
    name: 'HTTP+JSON',
    send: async (side, body) =>
      SendMessageResponse.fromJSON((await side.http('/message:send', { body, headers })).json),
    stream: async (side, body) =>
      sseEvents((await side.http('/message:stream', { body, headers })).text).map(({ data }) =>
        StreamResponse.fromJSON(data),
      ),
    get: async (side, id) => TaskCodec.fromJSON((await side.http(`/tasks/${id}`)).json),
  },
  {
    name: 'gRPC',
    send: async (side, params) =>
      (await side.grpc('sendMessage', params, { headers })).said[0] as SendMessageResponse,
    stream: async (side, params) =>
      (await side.grpc('sendStreamingMessage', params, { headers })).said as StreamResponse[],
    get: async (side, id) => (await side.grpc('getTask', { id })).said[0] as Task,
  },
];

/** Removes ids and times of the server from a comparison, and the boundaries of text chunks. */
function plain(value: unknown, ids: readonly string[]): unknown {
  const named = ids.reduce(
    (json, id, index) => json.replaceAll(id, `id-${index}`),
    JSON.stringify(value, (name, member: unknown) => (name === 'timestamp' ? undefined : member)),
  );
  return JSON.parse(named, (name, member: unknown) =>
    name === 'parts' ? joined(member as readonly JsonPart[]) : member,
  );
}

type JsonPart = { readonly text?: string };

function joined(parts: readonly JsonPart[]): readonly JsonPart[] {
  const isPlain = (one: JsonPart | undefined) => one?.text !== undefined && Object.keys(one).length === 1;
  return parts.reduce<JsonPart[]>((list, next) => {
    const last = list.at(-1);
    if (isPlain(last) && isPlain(next)) return [...list.slice(0, -1), { text: last!.text! + next.text! }];
    return [...list, next];
  }, []);
}

/**
 * The updates of a stream that carry content. Each server begins a stream in its own way: the stock one with the
 * executor's task, ours with the stored task and then the additions of the executor's task.
 */
function updates(events: readonly StreamResponse[]): readonly unknown[] {
  return events.flatMap(({ payload }) => {
    if (payload?.$case === 'task') return [];
    if (payload?.$case === 'artifactUpdate' && payload.value.artifact?.artifactId === 'early') return [];
    if (payload?.$case === 'statusUpdate') {
      const { status: now, metadata } = payload.value;
      if (now?.message?.messageId === 'in-history' || metadata?.['task'] !== undefined) return [];
      if (now?.state === TaskState.TASK_STATE_WORKING && !now.message && !metadata) return [];
    }
    return [StreamResponse.toJSON({ payload })];
  });
}

/** The parts of its request that an executor sees. */
function seen({ request, task, referenceTasks, context }: RequestContext): object {
  const { configuration, metadata, message: given } = request;
  return {
    configuration: configuration && SendMessageConfiguration.toJSON(configuration),
    metadata,
    message: given && MessageCodec.toJSON(given),
    extensions: context.requestedExtensions,
    task: task && TaskCodec.toJSON(task),
    references: referenceTasks?.map((one) => TaskCodec.toJSON(one)),
  };
}

const CONFIGURATION = { acceptedOutputModes: ['text/plain'], historyLength: 50 };
const METADATA = { 'x-tenant': 'blue', nested: { deep: [1] } };

/** One conversation: a question, its reply, a stream with a reference, and a message in place of a task. */
async function converse(side: Side, by: Transport): Promise<Readonly<Record<string, unknown>>> {
  const contexts: RequestContext[] = [];
  const playing = (play: Play) =>
    side.puppet.rehearse(
      (act) => (contexts.push({ ...act.context, request: act.context.request } as never), play(act)),
    );
  playing(everything);
  const more = { metadata: { user: 1 }, extensions: [EXTENSION] };
  const first = await by.send(side, {
    ...message('go', { ...more, messageId: `${by.name} 1` }, CONFIGURATION),
    metadata: METADATA,
  });
  const { id: taskId, contextId } = first.payload!.value as Task;
  const asked = await by.get(side, taskId);
  await by.send(side, message('on', { taskId, contextId, messageId: `${by.name} 2` }));
  await untilIn(side, taskId, 'COMPLETED');
  const ended = await by.get(side, taskId);
  const reference = { contextId, referenceTaskIds: [taskId, 'unknown'], messageId: `${by.name} 3` };
  const streamed = await by.stream(side, message('all', reference, CONFIGURATION));
  const { id: streamId } = streamed[0]!.payload!.value as Task;
  const streamedTask = await by.get(side, streamId);
  playing(repliesAtOnce);
  const reply = await by.send(side, message('say', { contextId, messageId: `${by.name} 5` }));
  const streamedReply = await by.stream(side, message('say', { contextId, messageId: `${by.name} 6` }));
  const ids = [taskId, streamId, contextId, ...contexts.map((one) => one.taskId)];
  return plain(
    {
      first: SendMessageResponse.toJSON(first),
      asked: TaskCodec.toJSON(asked),
      ended: TaskCodec.toJSON(ended),
      streamed: updates(streamed),
      streamedTask: TaskCodec.toJSON(streamedTask),
      reply: SendMessageResponse.toJSON(reply),
      streamedReply: streamedReply.map((one) => StreamResponse.toJSON(one)),
      seen: contexts.map(seen),
    },
    [...new Set(ids)],
  ) as Readonly<Record<string, unknown>>;
}

describe('one executor behind both servers', () => {
  let ours: Side;
  let stock: Side;

  beforeAll(async () => {
    hushConsole();
    [ours, stock] = await Promise.all([openOurs({}), openStock({})]);
  });

  afterAll(async () => {
    await Promise.all([ours.close(), stock.close()]);
    jest.restoreAllMocks();
  });

  it.each(TRANSPORTS.map((transport) => [transport.name, transport] as const))(
    'gives a client and its executor the same over %s as the stock server',
    async (_name, transport) => {
      const [right, model] = await Promise.all([converse(ours, transport), converse(stock, transport)]);
      for (const [what, value] of Object.entries(model))
        expect({ [what]: right[what] }).toEqual({ [what]: value });
    },
  );
});
