import { ClientCallContextKey } from '@a2a-js/sdk/client';
import type { RequestOptions, Transport } from '@a2a-js/sdk/client';
import type { A2ARequestHandler, ServerCallContext } from '@a2a-js/sdk/server';
import type { Scope } from '../../src/core/task.js';
import { toCallContext } from '../../src/a2a/translate/call.js';

/** The contents of the headers of a call over HTTP. */
interface CallFacts {
  readonly scope: Scope;
  readonly after: number | undefined;
}

export const CALL_FACTS = new ClientCallContextKey<CallFacts>('lango call facts');

const NO_SCOPE: Scope = { tenant: '', owner: '' };
const NEVER = new AbortController().signal;

/** Calls a handler directly, without a binding: what the bindings give is held against it. */
export function createDirectTransport(handler: A2ARequestHandler): Transport {
  return {
    protocolName: 'IN-PROCESS',
    protocolVersion: '1.0',
    getExtendedAgentCard: (params, options) =>
      handler.getAuthenticatedExtendedAgentCard(params, contextOf(options)),
    sendMessage: (params, options) => handler.sendMessage(params, contextOf(options)),
    sendMessageStream: (params, options) => handler.sendMessageStream(params, contextOf(options)),
    createTaskPushNotificationConfig: (params, options) =>
      handler.createTaskPushNotificationConfig(params, contextOf(options)),
    getTaskPushNotificationConfig: (params, options) =>
      handler.getTaskPushNotificationConfig(params, contextOf(options)),
    listTaskPushNotificationConfig: (params, options) =>
      handler.listTaskPushNotificationConfigs(params, contextOf(options)),
    deleteTaskPushNotificationConfig: (params, options) =>
      handler.deleteTaskPushNotificationConfig(params, contextOf(options)),
    getTask: (params, options) => handler.getTask(params, contextOf(options)),
    cancelTask: (params, options) => handler.cancelTask(params, contextOf(options)),
    listTasks: (params, options) => handler.listTasks(params, contextOf(options)),
    resubscribeTask: (params, options) => handler.resubscribe(params, contextOf(options)),
  };
}

function contextOf(options: RequestOptions | undefined): ServerCallContext {
  const facts = options?.context && CALL_FACTS.get(options.context);
  const { scope = NO_SCOPE, after } = facts ?? {};
  return toCallContext({ scope, after, signal: options?.signal ?? NEVER });
}
