import {
  ListTaskPushNotificationConfigsResponse,
  ListTasksResponse,
  SendMessageResponse,
  Task,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk';
import type { Message, StreamResponse } from '@a2a-js/sdk';
import type { A2ARequestHandler, ServerCallContext } from '@a2a-js/sdk/server';
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

/** The operations of an agent, and who may ask for them. */
export interface GuardedHandler extends A2ARequestHandler {
  /** Throws `forbidden` for a caller that may not use the agent. */
  admit(operation: OperationName, context: ServerCallContext): void;
}

/** What a binding knows of a call: whose operation, what the client sent, on whose behalf. */
export interface Request {
  readonly handler: GuardedHandler;
  readonly params: unknown;
  readonly context: ServerCallContext;
}

/**
 * An operation of A2A 1.0 section 3.1, the same behind each binding. `answer` resolves to ProtoJSON,
 * `events` yields what a stream shows. Both throw `LangoError`, before anything is stored when the
 * parameters are wrong.
 */
export type Operation =
  | { readonly kind: 'unary'; answer(request: Request): Promise<unknown> }
  | { readonly kind: 'stream'; events(request: Request): AsyncIterable<StreamResponse> };

export type OperationName = keyof typeof TABLE;

const TABLE = {
  SendMessage: unary(async ({ handler, params, context }) =>
    SendMessageResponse.toJSON(sendResult(await handler.sendMessage(parseSendMessage(params), context))),
  ),
  SendStreamingMessage: stream(({ handler, params, context }) =>
    handler.sendMessageStream(parseSendMessage(params), context),
  ),
  GetTask: unary(async ({ handler, params, context }) =>
    Task.toJSON(await handler.getTask(parseGetTask(params), context)),
  ),
  ListTasks: unary(async ({ handler, params, context }) => {
    const request = parseListTasks(params);
    return listJson(await handler.listTasks(request, context), request.includeArtifacts === true);
  }),
  CancelTask: unary(async ({ handler, params, context }) =>
    Task.toJSON(await handler.cancelTask(parseCancelTask(params), context)),
  ),
  SubscribeToTask: stream(({ handler, params, context }) =>
    handler.resubscribe(parseSubscribe(params), context),
  ),
  GetExtendedAgentCard: unary(async ({ handler, params, context }) =>
    cardJson(await handler.getAuthenticatedExtendedAgentCard(parseExtendedCard(params), context)),
  ),
  CreateTaskPushNotificationConfig: unary(async ({ handler, params, context }) =>
    TaskPushNotificationConfig.toJSON(
      await handler.createTaskPushNotificationConfig(parseCreatePush(params), context),
    ),
  ),
  GetTaskPushNotificationConfig: unary(async ({ handler, params, context }) => {
    const parse = context.requestedVersion === '0.3' ? parseOldGetPush : parseGetPush;
    return TaskPushNotificationConfig.toJSON(
      await handler.getTaskPushNotificationConfig(parse(params), context),
    );
  }),
  ListTaskPushNotificationConfigs: unary(async ({ handler, params, context }) => {
    const page = await handler.listTaskPushNotificationConfigs(parseListPush(params), context);
    return { configs: [], ...(ListTaskPushNotificationConfigsResponse.toJSON(page) as object) };
  }),
  DeleteTaskPushNotificationConfig: unary(async ({ handler, params, context }) => {
    await handler.deleteTaskPushNotificationConfig(parseDeletePush(params), context);
    return {};
  }),
};

const ADMITTING = new Map(
  Object.entries(TABLE).map(([name, operation]) => [name, admitting(name as OperationName, operation)]),
);

/** Undefined for a method that A2A 1.0 does not have. */
export function operationNamed(name: string): Operation | undefined {
  return ADMITTING.get(name);
}

/** Who may not use the agent is told so, and not what is wrong with the parameters. */
function admitting(name: OperationName, operation: Operation): Operation {
  const admit = ({ handler, context }: Request): void => handler.admit(name, context);
  if (operation.kind === 'unary')
    return unary((request) => {
      admit(request);
      return operation.answer(request);
    });
  return stream((request) => {
    admit(request);
    return operation.events(request);
  });
}

function unary(answer: (request: Request) => Promise<unknown>): Operation {
  return { kind: 'unary', answer };
}

function stream(events: (request: Request) => AsyncIterable<StreamResponse>): Operation {
  return { kind: 'stream', events };
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
