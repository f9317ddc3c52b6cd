import { ClientCallContextKey } from '@a2a-js/sdk/client';
import type { RequestOptions, Transport } from '@a2a-js/sdk/client';
import type { StreamResponse } from '@a2a-js/sdk';
import type { A2ARequestHandler, ServerCallContext } from '@a2a-js/sdk/server';
import type { Scope } from '../../core/task.js';
import type { Trace } from '../../core/task.js';
import { toCallContext } from '../translate/call.js';

/** The facts about a call inside the process that the headers carry over HTTP. */
export interface CallFacts {
  readonly scope: Scope;
  readonly after: number | undefined;
  readonly trace?: Trace | undefined;
}

export const CALL_FACTS = new ClientCallContextKey<CallFacts>('lango call facts');

const NO_SCOPE: Scope = { tenant: '', owner: '' };
const NEVER = new AbortController().signal;

/** Creates an SDK transport that calls a handler in this process directly, without a socket and without JSON. */
export function createInProcessTransport(handler: A2ARequestHandler): Transport {
  return {
    protocolName: 'IN-PROCESS',
    protocolVersion: '1.0',
    getExtendedAgentCard: (params, options) =>
      handler.getAuthenticatedExtendedAgentCard(params, contextOf(options)),
    sendMessage: (params, options) => handler.sendMessage(params, contextOf(options)),
    sendMessageStream: (params, options) =>
      endingWith(options?.signal, handler.sendMessageStream(params, contextOf(options))),
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
    resubscribeTask: (params, options) =>
      endingWith(options?.signal, handler.resubscribe(params, contextOf(options))),
  };
}

function contextOf(options: RequestOptions | undefined): ServerCallContext {
  const facts = options?.context && CALL_FACTS.get(options.context);
  return toCallContext({
    scope: facts?.scope ?? NO_SCOPE,
    after: facts?.after,
    trace: facts?.trace,
    signal: options?.signal ?? NEVER,
  });
}

/** Yields from `source`, and rejects as soon as `signal` aborts, also while `source` is silent. */
async function* endingWith(
  signal: AbortSignal = NEVER,
  source: AsyncGenerator<StreamResponse, void, undefined>,
): AsyncGenerator<StreamResponse, void, undefined> {
  signal.throwIfAborted();
  let giveUp = (): void => {};
  const onAbort = (): void => giveUp();
  signal.addEventListener('abort', onAbort);
  try {
    for (;;) {
      const next = await new Promise<IteratorResult<StreamResponse, void>>((resolve, reject) => {
        giveUp = () => reject(signal.reason as Error);
        source.next().then(resolve, reject);
      });
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    // Not awaited: a source that waits for its next event ends only after that event.
    source.return().catch(() => {});
  }
}
