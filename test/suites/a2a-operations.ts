import type { Message, StreamResponse, Task } from '@a2a-js/sdk';
import { Role, StreamResponse as StreamCodec, Task as TaskCodec, TaskState } from '@a2a-js/sdk';
import { newId } from '../../src/core/ids.js';
import { seqIn } from '../../src/a2a/translate/extensions.js';
import type { A2aNode } from '../support/a2a-node.js';
import { taskIn } from '../support/a2a-requests.js';
import type { Way } from '../support/a2a-transports.js';

/**
 * A case of the table that runs over every transport. `ask` resolves to plain JSON, which is compared between the
 * transports; `expected` must match it.
 */
export interface OperationCase {
  readonly title: string;
  ask(way: Way, node: A2aNode): Promise<unknown>;
  readonly expected?: unknown;
  /** The code in core of the error that the case ends with. */
  readonly error?: string;
  /** A transport whose stock client cannot send this. */
  readonly except?: Way['name'];
}

const DONE = { status: { state: 'TASK_STATE_COMPLETED' } };

export function request(text: string, more: Partial<Message> = {}, configuration: object = {}) {
  return {
    tenant: '',
    message: {
      messageId: newId(),
      role: Role.ROLE_USER,
      parts: [textPart(text)],
      contextId: '',
      taskId: '',
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
      ...more,
    },
    configuration: {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      returnImmediately: false,
      ...configuration,
    },
    metadata: undefined,
  };
}

function textPart(value: string) {
  return { content: { $case: 'text' as const, value }, metadata: undefined, filename: '', mediaType: '' };
}

const AT_ONCE = { returnImmediately: true };

async function send(way: Way, ...sent: Parameters<typeof request>): Promise<Task> {
  return (await way.transport.sendMessage(request(...sent), way.options())) as Task;
}

async function begin(way: Way, node: A2aNode, text = 'wait'): Promise<string> {
  const { id } = await send(way, text, {}, AT_ONCE);
  await taskIn(node, id, 'working');
  return id;
}

async function collect(events: AsyncIterable<StreamResponse>): Promise<readonly unknown[]> {
  const all: unknown[] = [];
  for await (const event of events) all.push(StreamCodec.toJSON(event));
  return all;
}

/** The events after a cursor. */
function replay(way: Way, id: string, after: number | string): Promise<readonly unknown[]> {
  return collect(way.transport.resubscribeTask({ tenant: '', id }, way.options({ after })));
}

function get(way: Way, id: string, historyLength?: number): Promise<Task> {
  return way.transport.getTask({ tenant: '', id, historyLength }, way.options());
}

function cancel(way: Way, id: string): Promise<Task> {
  return way.transport.cancelTask({ tenant: '', id, metadata: undefined }, way.options());
}

function list(way: Way, more: object) {
  return way.transport.listTasks(
    {
      tenant: '',
      contextId: '',
      status: TaskState.TASK_STATE_UNSPECIFIED,
      pageToken: '',
      statusTimestampAfter: undefined,
      ...more,
    },
    way.options(),
  );
}

/** Three completed tasks, a failed one and a waiting one in their own context. */
async function five(way: Way): Promise<string> {
  const contextId = newId();
  for (const text of ['say 1', 'say 2', 'say 3', 'fail']) await send(way, text, { contextId });
  await send(way, 'wait', { contextId }, AT_ONCE);
  return contextId;
}

const SENDING: readonly OperationCase[] = [
  {
    title: 'send and wait for the finished task',
    ask: async (way) => TaskCodec.toJSON(await send(way, 'say good morning')),
    expected: {
      ...DONE,
      artifacts: [{ parts: [{ text: 'good morning' }] }],
      history: [{ role: 'ROLE_USER' }],
    },
  },
  {
    title: 'send and return at once',
    ask: async (way) => TaskCodec.toJSON(await send(way, 'wait', {}, AT_ONCE)),
    expected: { status: { state: 'TASK_STATE_SUBMITTED' } },
  },
  {
    title: 'send with no history asked for',
    ask: async (way) => TaskCodec.toJSON(await send(way, 'say x', {}, { historyLength: 0 })),
    expected: DONE,
  },
  {
    title: 'send a file and data',
    ask: async (way) => {
      const data = {
        content: { $case: 'data' as const, value: { a: [1, null, 'x'], b: { c: true } } },
        metadata: { m: 1 },
        filename: '',
        mediaType: 'application/json',
      };
      const task = await send(way, 'say x', {
        parts: [textPart('say x'), data],
        metadata: { 'urn:x': { deep: [1] } },
      });
      return TaskCodec.toJSON(task);
    },
    expected: { history: [{ parts: [{ text: 'say x' }, { data: { a: [1, null, 'x'], b: { c: true } } }] }] },
  },
  {
    title: 'get a file',
    ask: async (way) => TaskCodec.toJSON(await send(way, 'file')),
    expected: {
      artifacts: [{ parts: [{ raw: 'iVBORw0KGgo=', mediaType: 'image/png', filename: 'pixel.png' }] }],
    },
  },
  {
    title: 'the same message again is the same task',
    ask: async (way) => {
      const sent = request('say once');
      const [first, second] = [
        await way.transport.sendMessage(sent, way.options()),
        await way.transport.sendMessage(sent, way.options()),
      ];
      return { isSame: (first as Task).id === (second as Task).id };
    },
    expected: { isSame: true },
  },
  {
    title: 'a question and its reply',
    ask: async (way) => {
      const asked = await send(way, 'ask');
      const answered = await send(way, 'say hi', { taskId: asked.id });
      return [TaskCodec.toJSON(asked), TaskCodec.toJSON(answered)];
    },
    expected: [{ status: { state: 'TASK_STATE_INPUT_REQUIRED' } }, DONE],
  },
  {
    title: 'a refusal, and a failure without its cause',
    ask: async (way) => [
      TaskCodec.toJSON(await send(way, 'refuse')),
      TaskCodec.toJSON(await send(way, 'fail')),
    ],
    expected: [{ status: { state: 'TASK_STATE_REJECTED' } }, { status: { state: 'TASK_STATE_FAILED' } }],
  },
];

const STREAMING: readonly OperationCase[] = [
  {
    title: 'stream: the task, its events, the end',
    ask: (way) => collect(way.transport.sendMessageStream(request('chunks 3'), way.options())),
  },
  {
    title: 'stream up to a question',
    ask: (way) => collect(way.transport.sendMessageStream(request('ask'), way.options())),
  },
  {
    title: 'subscribe to a running task and see its end',
    ask: async (way, node) => {
      const id = await begin(way, node);
      const stream = way.transport.resubscribeTask({ tenant: '', id }, way.options());
      const first = await stream.next();
      const rest = collect(stream);
      await cancel(way, id);
      return [StreamCodec.toJSON(first.value as StreamResponse), ...(await rest)];
    },
  },
  {
    title: 'subscribe with a cursor to a task that has ended: every later event, no snapshot',
    ask: async (way) => {
      const events: StreamResponse[] = [];
      for await (const event of way.transport.sendMessageStream(request('chunks 4'), way.options()))
        events.push(event);
      const first = events[0]!.payload!;
      const after = seqIn(first.value.metadata)!;
      const id = (first.value as Task).id;
      const replayed = await replay(way, id, after);
      const same = events.slice(1).map((event) => StreamCodec.toJSON(event));
      return { isSame: JSON.stringify(replayed) === JSON.stringify(same), count: replayed.length > 4 };
    },
    expected: { isSame: true, count: true },
  },
  {
    title: 'subscribe with the cursor of the last event of a task that has ended: nothing is missing',
    ask: async (way) => {
      const { id } = await send(way, 'say x');
      const events = await replay(way, id, 0);
      const last = events.at(-1) as { readonly statusUpdate: { readonly metadata: object } };
      return { events: events.length > 0, after: await replay(way, id, seqIn(last.statusUpdate.metadata)!) };
    },
    expected: { events: true, after: [] },
  },
];

const READING: readonly OperationCase[] = [
  {
    title: 'get a task, whole and with one message',
    ask: async (way) => {
      const { id } = await send(way, 'ask');
      return [TaskCodec.toJSON(await get(way, id)), TaskCodec.toJSON(await get(way, id, 1))];
    },
    expected: [
      { history: [{ role: 'ROLE_USER' }, { role: 'ROLE_AGENT' }] },
      { history: [{ role: 'ROLE_AGENT' }] },
    ],
  },
  {
    title: 'list page by page, newest first',
    ask: async (way) => {
      const contextId = await five(way);
      const ids: string[] = [];
      const sizes: number[] = [];
      let pageToken = '';
      do {
        const page = await list(way, { contextId, pageSize: 2, pageToken });
        ids.push(...page.tasks.map(({ id }) => id));
        sizes.push(page.tasks.length, page.totalSize, page.pageSize);
        pageToken = page.nextPageToken;
      } while (pageToken !== '');
      return { sizes, distinct: new Set(ids).size };
    },
    expected: { sizes: [2, 5, 2, 2, 5, 2, 1, 5, 2], distinct: 5 },
  },
  {
    title: 'list by state, with artifacts and history',
    ask: async (way) => {
      const contextId = await five(way);
      const page = await list(way, {
        contextId,
        status: TaskState.TASK_STATE_COMPLETED,
        includeArtifacts: true,
        historyLength: 1,
      });
      return page.tasks.map((task) => TaskCodec.toJSON(task));
    },
    expected: [3, 2, 1].map((n) => ({
      ...DONE,
      artifacts: [{ parts: [{ text: String(n) }] }],
      history: [{ role: 'ROLE_USER' }],
    })),
  },
  {
    title: 'list from a time on, that time included',
    ask: async (way) => {
      const contextId = newId();
      await send(way, 'say old', { contextId });
      await new Promise((resolve) => setTimeout(resolve, 5));
      const { status } = await send(way, 'say new', { contextId });
      const page = await list(way, { contextId, statusTimestampAfter: status!.timestamp });
      return { count: page.tasks.length };
    },
    expected: { count: 1 },
  },
  {
    title: 'the extended card',
    ask: async (way) => {
      const card = await way.transport.getExtendedAgentCard({ tenant: '' }, way.options());
      return { name: card.name, skills: card.skills.map(({ id }) => id) };
    },
    expected: { name: 'operator' },
  },
  {
    title: 'cancel a running task',
    ask: async (way, node) => TaskCodec.toJSON(await cancel(way, await begin(way, node))),
    expected: { status: { state: 'TASK_STATE_CANCELED' } },
  },
];

const NO_PART = { content: undefined, metadata: undefined, filename: '', mediaType: '' };
const PUSH = {
  tenant: '',
  taskId: 't',
  id: 'c',
  url: 'https://hooks.example/x',
  token: '',
  authentication: undefined,
};

const REFUSING: readonly OperationCase[] = [
  { title: 'get a missing task', error: 'not-found', ask: (way) => get(way, newId()) },
  { title: 'cancel a missing task', error: 'not-found', ask: (way) => cancel(way, newId()) },
  {
    title: 'cancel an ended task',
    error: 'not-cancelable',
    ask: async (way) => cancel(way, (await send(way, 'say x')).id),
  },
  {
    title: 'subscribe to a missing task',
    error: 'not-found',
    ask: (way) => collect(way.transport.resubscribeTask({ tenant: '', id: newId() }, way.options())),
  },
  {
    title: 'subscribe to an ended task',
    error: 'already-ended',
    ask: async (way) => {
      const { id } = await send(way, 'say x');
      return collect(way.transport.resubscribeTask({ tenant: '', id }, way.options()));
    },
  },
  {
    title: 'subscribe with a cursor ahead of the task',
    error: 'invalid-input',
    ask: async (way) => {
      const { id } = await send(way, 'say x');
      return replay(way, id, 999);
    },
  },
  {
    title: 'subscribe with a cursor to a missing task',
    error: 'not-found',
    ask: (way) => replay(way, newId(), 3),
  },
  {
    title: 'a message to a task that has ended',
    error: 'already-ended',
    ask: async (way) => send(way, 'more', { taskId: (await send(way, 'say x')).id }),
  },
  {
    title: 'a message to a missing task',
    error: 'not-found',
    ask: (way) => send(way, 'x', { taskId: newId() }),
  },
  {
    title: 'a message to a task in another context',
    error: 'invalid-input',
    ask: async (way) => send(way, 'x', { taskId: (await send(way, 'ask')).id, contextId: 'another' }),
  },
  {
    title: 'the same message id with another body',
    error: 'conflict',
    ask: async (way) => {
      const messageId = newId();
      await send(way, 'say x', { messageId });
      return send(way, 'say y', { messageId });
    },
  },
  {
    title: 'a media type that the agent does not take',
    error: 'content-type-not-supported',
    ask: (way) =>
      send(way, '', {
        parts: [
          { ...textPart(''), content: { $case: 'raw', value: Buffer.from('x') }, mediaType: 'image/png' },
        ],
      }),
  },
  {
    title: 'an output mode that the agent does not give',
    error: 'content-type-not-supported',
    ask: (way) => send(way, 'say x', {}, { acceptedOutputModes: ['image/png'] }),
  },
  {
    title: 'push configs of an agent that sends none',
    error: 'push-not-supported',
    ask: (way) => way.transport.createTaskPushNotificationConfig(PUSH, way.options()),
  },
];

/** Requests that the bindings refuse before they reach the handler; inside the process there is no binding. */
const INVALID: readonly OperationCase[] = [
  {
    title: 'an unknown caller',
    error: 'unauthenticated',
    ask: (way) => way.transport.getTask({ tenant: '', id: newId() }, way.options({ token: null })),
  },
  { title: 'a message without parts', error: 'invalid-input', ask: (way) => send(way, '', { parts: [] }) },
  {
    title: 'a part without content',
    error: 'invalid-input',
    ask: (way) => send(way, '', { parts: [NO_PART] }),
  },
  {
    title: 'a message without an id',
    error: 'invalid-input',
    ask: (way) => send(way, 'x', { messageId: '' }),
  },
  {
    title: 'a message of the agent',
    error: 'invalid-input',
    ask: (way) => send(way, 'x', { role: Role.ROLE_AGENT }),
  },
  {
    title: 'an unknown role',
    error: 'invalid-input',
    ask: (way) => send(way, 'x', { role: Role.ROLE_UNSPECIFIED }),
  },
  {
    title: 'a malformed URL',
    error: 'invalid-input',
    ask: (way) =>
      send(way, '', { parts: [{ ...NO_PART, content: { $case: 'url', value: 'file:///etc/passwd' } }] }),
  },
  {
    title: 'a malformed cursor',
    error: 'invalid-input',
    ask: async (way) => replay(way, (await send(way, 'say x')).id, 'soon'),
  },
  {
    title: 'a cursor below zero',
    error: 'invalid-input',
    ask: async (way) => replay(way, (await send(way, 'say x')).id, -1),
  },
  { title: 'a negative history length', error: 'invalid-input', ask: (way) => get(way, newId(), -1) },
  { title: 'a page size of 0', error: 'invalid-input', ask: (way) => list(way, { pageSize: 0 }) },
  {
    title: 'a page size that is too large',
    error: 'invalid-input',
    ask: (way) => list(way, { pageSize: 101 }),
  },
  {
    title: 'the page token of another caller',
    error: 'invalid-input',
    ask: (way) => list(way, { pageToken: 'no token' }),
  },
  {
    title: 'an unsupported version',
    error: 'version-not-supported',
    ask: (way) => way.transport.getTask({ tenant: '', id: newId() }, way.options({ version: '2.0' })),
  },
  {
    title: 'data nested deeper than allowed',
    error: 'invalid-input',
    ask: (way) => {
      let deep: unknown = 1;
      for (let i = 0; i < 80; i += 1) deep = { deep };
      return send(way, '', { parts: [{ ...NO_PART, content: { $case: 'data', value: deep } }] });
    },
  },
];

export const OPERATION_CASES: readonly OperationCase[] = [...SENDING, ...STREAMING, ...READING, ...REFUSING];
export const BINDING_CASES: readonly OperationCase[] = INVALID;
