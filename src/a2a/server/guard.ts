import type { A2ARequestHandler, ServerCallContext } from '@a2a-js/sdk/server';
import type { Audit } from '../../core/identity.js';
import { LangoError, isLangoError } from '../../core/errors.js';
import { traceIdOf } from '../../core/trace.js';
import { callOf } from '../translate/call.js';
import type { GuardedHandler, OperationName } from './operations.js';

export interface GuardOptions {
  /** The agent behind the handler. */
  readonly agent: string;
  /** The scope that callers need, where callers are told apart by scopes. */
  readonly scope?: string;
  readonly audit: Audit;
}

/** Of a method of the handler: its parameters, its result. */
type Params<Name extends keyof A2ARequestHandler> = Parameters<A2ARequestHandler[Name]>[0];
type Answer<Name extends keyof A2ARequestHandler> = ReturnType<A2ARequestHandler[Name]>;

/**
 * The same handler with a guard before it, who admits the callers that may use the agent. What changes something, and
 * what is forbidden, is told to the audit, unless it was asked for inside the process.
 */
export function guarded(handler: A2ARequestHandler, options: GuardOptions): GuardedHandler {
  return new Guard(handler, options);
}

class Guard implements GuardedHandler {
  readonly #inner: A2ARequestHandler;
  readonly #options: GuardOptions;

  constructor(inner: A2ARequestHandler, options: GuardOptions) {
    this.#inner = inner;
    this.#options = options;
  }

  admit(operation: OperationName, context: ServerCallContext): void {
    const { scope, agent } = this.#options;
    const { scopes } = callOf(context).scope;
    if (scope === undefined || scopes === undefined || scopes.has(scope)) return;
    this.#tell(operation, context, { outcome: 'forbidden' });
    throw new LangoError('forbidden', `The agent ${agent} is for callers with the scope ${scope}.`, {
      headers: {
        'WWW-Authenticate': `Bearer realm="lango", error="insufficient_scope", scope="${scope}"`,
      },
    });
  }

  getAgentCard(): Answer<'getAgentCard'> {
    return this.#inner.getAgentCard();
  }

  getAuthenticatedExtendedAgentCard(
    params: Params<'getAuthenticatedExtendedAgentCard'>,
    context: ServerCallContext,
  ): Answer<'getAuthenticatedExtendedAgentCard'> {
    return this.#inner.getAuthenticatedExtendedAgentCard(params, context);
  }

  getTask(params: Params<'getTask'>, context: ServerCallContext): Answer<'getTask'> {
    return this.#inner.getTask(params, context);
  }

  listTasks(params: Params<'listTasks'>, context: ServerCallContext): Answer<'listTasks'> {
    return this.#inner.listTasks(params, context);
  }

  getTaskPushNotificationConfig(
    params: Params<'getTaskPushNotificationConfig'>,
    context: ServerCallContext,
  ): Answer<'getTaskPushNotificationConfig'> {
    return this.#inner.getTaskPushNotificationConfig(params, context);
  }

  listTaskPushNotificationConfigs(
    params: Params<'listTaskPushNotificationConfigs'>,
    context: ServerCallContext,
  ): Answer<'listTaskPushNotificationConfigs'> {
    return this.#inner.listTaskPushNotificationConfigs(params, context);
  }

  resubscribe(params: Params<'resubscribe'>, context: ServerCallContext): Answer<'resubscribe'> {
    return this.#inner.resubscribe(params, context);
  }

  sendMessage(params: Params<'sendMessage'>, context: ServerCallContext): Answer<'sendMessage'> {
    const change = { operation: 'SendMessage', context, task: params.message?.taskId } as const;
    return this.#change(
      change,
      () => this.#inner.sendMessage(params, context),
      (result) => ('status' in result ? result.id : result.taskId),
    );
  }

  async *sendMessageStream(
    params: Params<'sendMessageStream'>,
    context: ServerCallContext,
  ): Answer<'sendMessageStream'> {
    const change = { operation: 'SendStreamingMessage', context, task: params.message?.taskId } as const;
    const events = this.#inner.sendMessageStream(params, context);
    try {
      const first = await this.#change(
        change,
        () => events.next(),
        ({ value }) => (value?.payload?.$case === 'task' ? value.payload.value.id : undefined),
      );
      if (first.done === true) return;
      yield first.value;
      yield* events;
    } finally {
      await events.return();
    }
  }

  cancelTask(params: Params<'cancelTask'>, context: ServerCallContext): Answer<'cancelTask'> {
    const change = { operation: 'CancelTask', context, task: params.id } as const;
    return this.#change(change, () => this.#inner.cancelTask(params, context));
  }

  createTaskPushNotificationConfig(
    params: Params<'createTaskPushNotificationConfig'>,
    context: ServerCallContext,
  ): Answer<'createTaskPushNotificationConfig'> {
    const change = { operation: 'CreateTaskPushNotificationConfig', context, task: params.taskId } as const;
    return this.#change(change, () => this.#inner.createTaskPushNotificationConfig(params, context));
  }

  deleteTaskPushNotificationConfig(
    params: Params<'deleteTaskPushNotificationConfig'>,
    context: ServerCallContext,
  ): Answer<'deleteTaskPushNotificationConfig'> {
    const change = { operation: 'DeleteTaskPushNotificationConfig', context, task: params.taskId } as const;
    return this.#change(change, () => this.#inner.deleteTaskPushNotificationConfig(params, context));
  }

  /** Writes one line for the audit when the change is made, or was refused. */
  async #change<Result>(
    { operation, context, task }: Change,
    work: () => Promise<Result>,
    taskOf: (result: Result) => string | undefined = () => undefined,
  ): Promise<Result> {
    try {
      const result = await work();
      this.#tell(operation, context, { outcome: 'ok', task: taskOf(result) || task });
      return result;
    } catch (error) {
      const outcome = isLangoError(error) ? error.code : 'internal';
      this.#tell(operation, context, { outcome, task });
      throw error;
    }
  }

  #tell(operation: OperationName, context: ServerCallContext, { outcome, task }: Outcome): void {
    const { scope: caller, from, trace } = callOf(context);
    if (from === undefined) return;
    const { agent, audit } = this.#options;
    audit({
      ...{ operation, outcome, caller, from, agent },
      ...(task ? { task } : {}),
      ...(trace ? { traceId: traceIdOf(trace) } : {}),
    });
  }
}

interface Outcome {
  readonly outcome: Parameters<Audit>[0]['outcome'];
  readonly task?: string | undefined;
}

interface Change {
  readonly operation: OperationName;
  readonly context: ServerCallContext;
  /** The task that the parameters name. */
  readonly task: string | undefined;
}
