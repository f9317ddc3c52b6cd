import { mutated } from './mutate.js';
import type { Random } from './random.js';
import type { Target } from './target.js';

/** Well-formed requests, to be mutated. */

/** An address that the server may send to, and where nothing listens. */
export const NOBODY = '127.0.0.1:1';

const CHAIN = 'urn:lango:a2a:chain:v1';

let count = 0;

interface SendParams {
  readonly message: object;
  readonly configuration: object;
}

/** Well-formed parts that are refused, before anything is stored. */
const REFUSED: readonly Partial<SendParams>[] = [
  { configuration: { acceptedOutputModes: ['image/png'] } },
  { configuration: { taskPushNotificationConfig: { url: 'https://10.0.0.1/' } } },
  { message: { parts: [{ raw: 'eA==', mediaType: 'image/png' }] } },
  { message: { taskId: 'nowhere' } },
  { message: { metadata: { [CHAIN]: { depth: 0, chain: ['x@y'] } } } },
];

export function sendParams(target: Target, random: Random): SendParams {
  count += 1;
  const { message, configuration } = random.chance(25) ? random.pick(REFUSED) : {};
  return {
    message: {
      messageId: `fuzz-${count}`,
      role: 'ROLE_USER',
      parts: [{ text: 'hello', mediaType: 'text/plain', metadata: { a: [1] } }],
      ...(random.chance(10) ? { taskId: target.taskId } : {}),
      metadata: { [CHAIN]: { chain: ['x@y'], depth: 1 } },
      ...message,
    },
    configuration: {
      returnImmediately: random.chance(70),
      historyLength: 1,
      acceptedOutputModes: ['text/plain'],
      ...(random.chance(10) ? { taskPushNotificationConfig: { url: `http://${NOBODY}/`, token: 't' } } : {}),
      ...configuration,
    },
  };
}

/** The parameters of an operation, and the agent that they are for. */
interface Call {
  readonly agent: string;
  readonly params: object;
}

/** A message that begins a task, or one to the task that accepts any. */
export function sendCall(target: Target, random: Random): Call {
  const params = sendParams(target, random);
  if (random.chance(70)) return { agent: target.root, params };
  const { agent, taskId } = target.asking;
  return { agent, params: { ...params, message: { taskId, ...params.message } } };
}

/** The parameters of a send in the form of A2A 0.3. */
function oldSendParams(): object {
  count += 1;
  return {
    message: {
      kind: 'message',
      messageId: `fuzz-${count}`,
      role: 'user',
      parts: [{ kind: 'text', text: 'hello' }],
    },
    configuration: { blocking: false },
  };
}

/** An operation by its name in JSON-RPC, with fitting parameters. */
export function anyCall(target: Target, random: Random): Call & { readonly method: string } {
  const { root: agent, taskId } = target;
  if (random.chance(40)) return { method: random.pick(SENDS), ...sendCall(target, random) };
  const method = random.pick(Object.keys(OPERATIONS));
  return { method, agent, params: OPERATIONS[method]!(taskId) };
}

const SENDS = ['SendMessage', 'SendMessage', 'SendStreamingMessage'];

const OPERATIONS: Readonly<Record<string, (taskId: string) => object>> = {
  'message/send': oldSendParams,
  'message/stream': oldSendParams,
  GetTask: (id) => ({ id, historyLength: 3 }),
  'tasks/get': (id) => ({ id }),
  ListTasks: () => ({
    pageSize: 5,
    status: 'TASK_STATE_COMPLETED',
    statusTimestampAfter: '2026-01-01T00:00:00Z',
  }),
  CancelTask: (id) => ({ id }),
  SubscribeToTask: (id) => ({ id }),
  CreateTaskPushNotificationConfig: (taskId) => ({ taskId, url: `http://${NOBODY}/x`, token: 't' }),
  ListTaskPushNotificationConfigs: (taskId) => ({ taskId }),
  DeleteTaskPushNotificationConfig: (taskId) => ({ taskId, id: 'x' }),
  GetExtendedAgentCard: () => ({}),
};

/** Returns the value, mostly with an error in it. */
export function spoiled(value: object, random: Random): unknown {
  return random.chance(70) ? mutated(value, random) : value;
}

/** The values sent with a request: over HTTP as headers, over gRPC as metadata. */
export function parametersOf({ token }: Target, random: Random): Record<string, string> {
  const oddly = (percent: number, name: string, values: readonly string[]): Record<string, string> =>
    random.chance(percent) ? { [name]: random.pick(values) } : {};
  return {
    authorization: `Bearer ${token}`,
    ...oddly(10, 'a2a-version', ['1.0', '0.3', '9', '1.0.7', 'x'.repeat(300)]),
    ...oddly(10, 'last-event-id', ['0', '-1', '99999', 'x']),
    ...oddly(5, 'a2a-extensions', ['urn:lango:a2a:cursor:v1', ',,,', 'u,'.repeat(3_000)]),
    ...oddly(5, 'traceparent', ['00-zz', '00-00000000000000000000000000000000-0000000000000000-01']),
  };
}
