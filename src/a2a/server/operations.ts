import {
  ListTaskPushNotificationConfigsResponse,
  ListTasksResponse,
  SendMessageResponse,
  Task,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk';
import type { AgentCard, Message, StreamResponse } from '@a2a-js/sdk';
import type { A2ARequestHandler, ServerCallContext } from '@a2a-js/sdk/server';
import type { Audit } from '../../core/identity.js';
import { LangoError, isLangoError } from '../../core/errors.js';
import { traceIdOf } from '../../core/trace.js';
import { callOf } from '../translate/call.js';
import { cardJson } from './card.js';
import {
  parseCancelTask,
  parseCreatePush,
  parseDeletePush,
  parseExtendedCard,
  parseGetPush,
  parseGetTask,
  parseListPush,
  parseListTasks,
  parseOldGetPush,
  parseSendMessage,
  parseSubscribe,
} from './requests.js';

/** An agent as the bindings see it. */
export interface PublishedAgent {
  readonly name: string;
  readonly handler: A2ARequestHandler;
  /** The public card, for the address that a client uses. */
  readonly card: (baseUrl?: string) => AgentCard;
  /** The scope that callers need, where callers are told apart by scopes. */
  readonly scope?: string | undefined;
  /** Records each operation that changes something, and each that is forbidden. */
  readonly audit: Audit;
}

/** One call of an operation, whatever binding it came through. */
export interface Request {
  readonly agent: PublishedAgent;
  /** The parameters of A2A 1.0 as the client sent them. */
  readonly params: unknown;
  readonly context: ServerCallContext;
}

/**
 * An operation of A2A 1.0 section 3.1, the same behind each binding: it admits the caller, checks the parameters, and
 * calls the agent's handler. `answer` resolves to ProtoJSON, `events` yields the events of a stream. Both throw
 * `LangoError`: `forbidden` first of all, then `invalid-input`, before anything is stored.
 */
export type Operation =
  | { readonly kind: 'unary'; answer(request: Request): Promise<unknown> }
  | { readonly kind: 'stream'; events(request: Request): AsyncIterable<StreamResponse> };

interface Call<Params, Result> {
  readonly parse: (params: unknown, context: ServerCallContext) => Params;
  readonly run: (handler: A2ARequestHandler, params: Params, context: ServerCallContext) => Result;
  /** Set for an operation that changes something: returns the task that the parameters name. */
  readonly changes?: (params: Params) => string | undefined;
}

interface UnaryCall<Params, Result> extends Call<Params, Promise<Result>> {
  readonly toJson: (result: Result, params: Params) => unknown;
  /** The task that the result names. */
  readonly taskOf?: (result: Result) => string | undefined;
}

type StreamCall<Params> = Call<Params, AsyncGenerator<StreamResponse, void, undefined>>;

export type OperationName = keyof typeof TABLE;

const TABLE = {
  SendMessage: unary({
    parse: parseSendMessage,
    run: (handler, params, context) => handler.sendMessage(params, context),
    toJson: (result) => SendMessageResponse.toJSON(sendResult(result)),
    changes: ({ message }) => message?.taskId,
    taskOf: (result) => ('status' in result ? result.id : result.taskId),
  }),
  SendStreamingMessage: stream({
    parse: parseSendMessage,
    run: (handler, params, context) => handler.sendMessageStream(params, context),
    changes: ({ message }) => message?.taskId,
  }),
  GetTask: unary({
    parse: parseGetTask,
    run: (handler, params, context) => handler.getTask(params, context),
    toJson: (task) => Task.toJSON(task),
  }),
  ListTasks: unary({
    parse: parseListTasks,
    run: (handler, params, context) => handler.listTasks(params, context),
    toJson: (page, params) => listJson(page, params.includeArtifacts === true),
  }),
  CancelTask: unary({
    parse: parseCancelTask,
    run: (handler, params, context) => handler.cancelTask(params, context),
    toJson: (task) => Task.toJSON(task),
    changes: ({ id }) => id,
  }),
  SubscribeToTask: stream({
    parse: parseSubscribe,
    run: (handler, params, context) => handler.resubscribe(params, context),
  }),
  GetExtendedAgentCard: unary({
    parse: parseExtendedCard,
    run: (handler, params, context) => handler.getAuthenticatedExtendedAgentCard(params, context),
    toJson: cardJson,
  }),
  CreateTaskPushNotificationConfig: unary({
    parse: parseCreatePush,
    run: (handler, params, context) => handler.createTaskPushNotificationConfig(params, context),
    toJson: (config) => TaskPushNotificationConfig.toJSON(config),
    changes: ({ taskId }) => taskId,
  }),
  GetTaskPushNotificationConfig: unary({
    parse: (params, { requestedVersion }) =>
      requestedVersion === '0.3' ? parseOldGetPush(params) : parseGetPush(params),
    run: (handler, params, context) => handler.getTaskPushNotificationConfig(params, context),
    toJson: (config) => TaskPushNotificationConfig.toJSON(config),
  }),
  ListTaskPushNotificationConfigs: unary({
    parse: parseListPush,
    run: (handler, params, context) => handler.listTaskPushNotificationConfigs(params, context),
    toJson: (page) => ({
      configs: [],
      ...(ListTaskPushNotificationConfigsResponse.toJSON(page) as object),
    }),
  }),
  DeleteTaskPushNotificationConfig: unary({
    parse: parseDeletePush,
    run: (handler, params, context) => handler.deleteTaskPushNotificationConfig(params, context),
    toJson: () => ({}),
    changes: ({ taskId }) => taskId,
  }),
};

const OPERATIONS = new Map(
  Object.entries(TABLE).map(([name, toOperation]) => [name, toOperation(name as OperationName)]),
);

/** Undefined for a method that A2A 1.0 does not have. */
export function operationNamed(name: string): Operation | undefined {
  return OPERATIONS.get(name);
}

function unary<Params, Result>(call: UnaryCall<Params, Result>): (name: string) => Operation {
  return (name) => ({
    kind: 'unary',
    async answer(request) {
      admit(name, request);
      const { agent, context } = request;
      const parsed = call.parse(request.params, context);
      const result = call.run(agent.handler, parsed, context);
      if (!call.changes) return call.toJson(await result, parsed);
      const task = call.changes(parsed);
      return call.toJson(await audited({ name, request, task }, result, call.taskOf), parsed);
    },
  });
}

function stream<Params>(call: StreamCall<Params>): (name: string) => Operation {
  return (name) => ({
    kind: 'stream',
    events(request) {
      admit(name, request);
      const { agent, context } = request;
      const parsed = call.parse(request.params, context);
      const events = call.run(agent.handler, parsed, context);
      return call.changes ? auditedStream({ name, request, task: call.changes(parsed) }, events) : events;
    },
  });
}

/** Throws `forbidden` for a caller without the agent's scope, before its parameters are checked. */
function admit(name: string, { agent, context }: Request): void {
  const { scope } = agent;
  const { scopes } = callOf(context).scope;
  if (scope === undefined || scopes === undefined || scopes.has(scope)) return;
  audit({ name, request: { agent, context } }, 'forbidden');
  throw new LangoError('forbidden', `The agent ${agent.name} is for callers with the scope ${scope}.`, {
    headers: {
      'WWW-Authenticate': `Bearer realm="lango", error="insufficient_scope", scope="${scope}"`,
    },
  });
}

/** Writes one line for the audit once the change is made, or was refused. */
async function audited<Result>(
  change: Change,
  work: Promise<Result>,
  taskOf: (result: Result) => string | undefined = () => undefined,
): Promise<Result> {
  try {
    const result = await work;
    audit({ ...change, task: taskOf(result) || change.task }, 'ok');
    return result;
  } catch (error) {
    audit(change, isLangoError(error) ? error.code : 'internal');
    throw error;
  }
}

/** The first event of a stream says whether the change was made. */
async function* auditedStream(
  change: Change,
  events: AsyncGenerator<StreamResponse, void, undefined>,
): AsyncGenerator<StreamResponse, void, undefined> {
  try {
    const first = await audited(change, events.next(), ({ value }) =>
      value?.payload?.$case === 'task' ? value.payload.value.id : undefined,
    );
    if (first.done === true) return;
    yield first.value;
    yield* events;
  } finally {
    await events.return();
  }
}

interface Change {
  readonly name: string;
  readonly request: Pick<Request, 'agent' | 'context'>;
  readonly task?: string | undefined;
}

function audit({ name, request, task }: Change, outcome: Parameters<Audit>[0]['outcome']): void {
  const { agent, context } = request;
  const { scope: caller, from, trace } = callOf(context);
  agent.audit({
    ...{ operation: name, outcome, caller, agent: agent.name },
    ...(from === undefined ? {} : { from }),
    ...(task ? { task } : {}),
    ...(trace ? { traceId: traceIdOf(trace) } : {}),
  });
}

function sendResult(result: Message | Task): SendMessageResponse {
  if ('messageId' in result) return { payload: { $case: 'message', value: result } };
  return { payload: { $case: 'task', value: result } };
}

/** The encoder leaves empty lists out; a client that asked for artifacts gets the field in each task. */
function listJson(response: ListTasksResponse, includeArtifacts: boolean): unknown {
  const json = ListTasksResponse.toJSON(response) as { tasks?: object[] };
  const tasks = json.tasks ?? [];
  return {
    nextPageToken: '',
    totalSize: 0,
    ...json,
    tasks: includeArtifacts ? tasks.map((task) => ({ artifacts: [], ...task })) : tasks,
  };
}
