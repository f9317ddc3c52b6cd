import type { AgentCard, Message, StreamResponse } from '@a2a-js/sdk';
import {
  ListTaskPushNotificationConfigsResponse,
  ListTasksResponse,
  SendMessageResponse,
  Task,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk';
import type { A2ARequestHandler, ServerCallContext } from '@a2a-js/sdk/server';
import { LangoError, isLangoError } from '../../core/errors.js';
import { readingOnly, type Audit } from '../../core/identity.js';
import type { Json } from '../../core/json.js';
import { traceIdOf } from '../../core/trace.js';
import { callOf } from '../translate/call.js';
import { jsonWithGenerations } from '../translate/generation.js';
import type { LocalAgent } from '../translate/task-calls.js';
import { cardJson } from './card.js';
import { DIALECT_1_0, type Dialect } from './dialect.js';
import { parseAs } from './proto-json.js';
import { REQUESTS, type OperationName, type Params } from './requests.js';

/** An agent as the bindings see it. */
export interface PublishedAgent {
  readonly name: string;
  readonly handler: A2ARequestHandler & LocalAgent;
  /** The public card, for the address that a client uses. */
  readonly card: (baseUrl?: string) => AgentCard;
  /** The scope that callers need, where callers are told apart by scopes. */
  readonly scope?: string | undefined;
  /** Records each operation that changes something, and each that is forbidden. */
  readonly audit: Audit;
}

/** One call of an operation, over any binding. */
export interface Request {
  readonly agent: PublishedAgent;
  /** The parameters of A2A 1.0 as the client sent them. */
  readonly params: unknown;
  /** The dialect of the client. Default: that of 1.0. */
  readonly dialect?: Dialect;
  readonly context: ServerCallContext;
}

/**
 * An operation of A2A 1.0 section 3.1, the same behind each binding: it admits the caller, checks the parameters, and
 * calls the agent's handler. Both kinds throw `LangoError`: `forbidden` first of all, then `invalid-input`, before
 * anything is stored.
 */
export type Operation = UnaryOperation | StreamOperation;

export interface UnaryOperation extends Named {
  readonly kind: 'unary';
  call(request: Request): Promise<OperationResult>;
}

export interface StreamOperation extends Named {
  readonly kind: 'stream';
  events(request: Request): AsyncIterable<StreamResponse>;
}

interface Named {
  readonly name: OperationName;
  /** Whether it changes something; otherwise it only reads. */
  readonly changes: boolean;
}

/** The result of an operation as the protocol's message, and as its JSON. */
export interface OperationResult {
  readonly message: unknown;
  toJson(): Json;
}

interface Row<Sent, Result> {
  readonly run: (handler: A2ARequestHandler, params: Sent, context: ServerCallContext) => Result;
  /** Set for an operation that changes something: returns the task that the parameters name. */
  readonly changes?: (params: Sent) => string | undefined;
}

interface UnaryRow<Sent, Result> extends Row<Sent, Promise<Result>> {
  readonly result: { toJSON(result: Result, params: Sent): unknown };
}

type Events = AsyncGenerator<StreamResponse, void, undefined>;

export const OPERATIONS = {
  SendMessage: unary('SendMessage', {
    run: (to, ...call) => to.sendMessage(...call).then(sendResult),
    result: SendMessageResponse,
    changes: ({ message }) => message?.taskId,
  }),
  SendStreamingMessage: stream('SendStreamingMessage', {
    run: (to, ...call) => to.sendMessageStream(...call),
    changes: ({ message }) => message?.taskId,
  }),
  GetTask: unary('GetTask', { run: (to, ...call) => to.getTask(...call), result: Task }),
  ListTasks: unary('ListTasks', {
    run: (to, ...call) => to.listTasks(...call),
    result: { toJSON: (page, params) => listJson(page, params.includeArtifacts === true) },
  }),
  CancelTask: unary('CancelTask', {
    run: (to, ...call) => to.cancelTask(...call),
    result: Task,
    changes: ({ id }) => id,
  }),
  SubscribeToTask: stream('SubscribeToTask', { run: (to, ...call) => to.resubscribe(...call) }),
  GetExtendedAgentCard: unary('GetExtendedAgentCard', {
    run: (to, ...call) => to.getAuthenticatedExtendedAgentCard(...call),
    result: { toJSON: cardJson },
  }),
  CreateTaskPushNotificationConfig: unary('CreateTaskPushNotificationConfig', {
    run: (to, ...call) => to.createTaskPushNotificationConfig(...call),
    result: TaskPushNotificationConfig,
    changes: ({ taskId }) => taskId,
  }),
  GetTaskPushNotificationConfig: unary('GetTaskPushNotificationConfig', {
    run: (to, ...call) => to.getTaskPushNotificationConfig(...call),
    result: TaskPushNotificationConfig,
  }),
  ListTaskPushNotificationConfigs: unary('ListTaskPushNotificationConfigs', {
    run: (to, ...call) => to.listTaskPushNotificationConfigs(...call),
    result: {
      // The encoder leaves an empty list out.
      toJSON: (page) => ({
        configs: [],
        ...(ListTaskPushNotificationConfigsResponse.toJSON(page) as object),
      }),
    },
  }),
  DeleteTaskPushNotificationConfig: unary('DeleteTaskPushNotificationConfig', {
    run: (to, ...call) => to.deleteTaskPushNotificationConfig(...call),
    result: { toJSON: () => ({}) },
    changes: ({ taskId }) => taskId,
  }),
} satisfies Readonly<Record<OperationName, Operation>>;

export function isOperation(name: string): name is OperationName {
  return Object.hasOwn(OPERATIONS, name);
}

function unary<Name extends OperationName, Result>(
  name: Name,
  row: UnaryRow<Params[Name], Result>,
): UnaryOperation {
  return {
    name,
    kind: 'unary',
    changes: row.changes !== undefined,
    async call(request) {
      const params = admittedParams(name, request, row.changes !== undefined);
      const change = row.changes && { name, request, task: row.changes(params) };
      let message: Result;
      try {
        message = await row.run(request.agent.handler, params, request.context);
      } catch (error) {
        if (change) audit(change, outcomeOf(error));
        throw error;
      }
      if (change) auditDone(change, message);
      return {
        message,
        toJson: () => jsonWithGenerations(row.result.toJSON(message, params), message) as Json,
      };
    },
  };
}

function stream<Name extends OperationName>(name: Name, row: Row<Params[Name], Events>): StreamOperation {
  return {
    name,
    kind: 'stream',
    changes: row.changes !== undefined,
    events(request) {
      const params = admittedParams(name, request, row.changes !== undefined);
      const events = row.run(request.agent.handler, params, request.context);
      return row.changes ? auditedStream({ name, request, task: row.changes(params) }, events) : events;
    },
  };
}

/** Admits the caller, then checks the parameters and returns them. */
function admittedParams<Name extends OperationName>(name: Name, request: Request, isChange: boolean) {
  admitCaller(name, request);
  admitViewer(name, request, isChange);
  const { codec, schema, oldSchema = schema, isUsual } = REQUESTS[name];
  const { dialect = DIALECT_1_0, params } = request;
  if (isUsual?.(params)) return codec.fromJSON(params);
  const ownSchema = dialect.version === '0.3' ? oldSchema : schema;
  return codec.fromJSON(parseAs(ownSchema, params, (violation) => dialect.violation(name, violation)));
}

/** Throws `forbidden` for a caller without the agent's scope, before its parameters are checked. */
function admitCaller(name: string, { agent, context }: Request): void {
  const { scope } = agent;
  const { scopes } = callOf(context).scope;
  if (scope === undefined || scopes === undefined || scopes.has(scope)) return;
  audit({ name, request: { agent, context } }, 'forbidden');
  throw new LangoError('forbidden', `The agent ${agent.name} is for callers with the scope ${scope}.`, {
    headers: { 'WWW-Authenticate': `Bearer realm="lango", error="insufficient_scope", scope="${scope}"` },
  });
}

/** Throws `forbidden` for an operator who would change another person's data. Audits each read by an operator. */
function admitViewer(name: string, request: Request, isChange: boolean): void {
  const { scope, viewer } = callOf(request.context);
  if (!viewer) return;
  audit({ name, request }, isChange ? 'forbidden' : 'ok');
  if (isChange) throw readingOnly(scope);
}

/** Writes the line for the audit of a change that is made. */
function auditDone({ name, request, task }: Change, result: unknown): void {
  audit({ name, request, task: taskIn(result) || task }, 'ok');
}

function outcomeOf(error: unknown): Parameters<Audit>[0]['outcome'] {
  return isLangoError(error) ? error.code : 'internal';
}

function taskIn(response: unknown): string | undefined {
  const { payload } = (response ?? {}) as Partial<SendMessageResponse>;
  return payload?.$case === 'task' ? payload.value.id : payload?.value.taskId;
}

/** Audits the change by the first event of its stream, which says whether it was made. */
function auditedStream(change: Change, events: Events): AsyncIterable<StreamResponse> {
  const first = async (): ReturnType<Events['next']> => {
    next = () => events.next();
    try {
      const beginning = await events.next();
      auditDone(change, beginning.value ?? undefined);
      return beginning;
    } catch (error) {
      audit(change, outcomeOf(error));
      throw error;
    }
  };
  let next = first;
  return {
    [Symbol.asyncIterator]: () => ({ next: () => next(), return: () => events.return() }),
  };
}

interface Change {
  readonly name: string;
  readonly request: Pick<Request, 'agent' | 'context'>;
  readonly task?: string | undefined;
}

function audit({ name, request, task }: Change, outcome: Parameters<Audit>[0]['outcome']): void {
  const { agent, context } = request;
  const { scope: caller, viewer, from, trace } = callOf(context);
  agent.audit({
    operation: name,
    outcome,
    caller,
    agent: agent.name,
    by: viewer?.owner,
    from,
    task: task || undefined,
    traceId: trace && traceIdOf(trace),
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
