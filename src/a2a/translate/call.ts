import { ServerCallContext } from '@a2a-js/sdk/server';
import { LangoError } from '../../core/errors.js';
import type { Caller } from '../../core/identity.js';
import type { Trace } from '../../core/trace.js';

/** What our handler needs to know of a call besides its parameters, whatever transport brought it. */
export interface Call {
  readonly scope: Caller;
  /** Ends waiting and streaming, never the task. */
  readonly signal: AbortSignal;
  /** For a subscription: the `seq` of the last event the caller saw. */
  readonly after: number | undefined;
  /** The client's address; absent inside the process. */
  readonly from?: string;
  /** The address under which the client reached this server; absent inside the process and over gRPC. */
  readonly baseUrl?: string;
  /** The trace that it is part of. */
  readonly trace?: Trace | undefined;
  /** Which version of the protocol it speaks; 1.0 when absent. */
  readonly version?: string;
}

const CALL_KEY = 'lango.call';

/** The SDK's context of a call, so that any of its transports can carry one of ours. */
export function toCallContext(call: Call): ServerCallContext {
  return new ServerCallContext({
    user: { isAuthenticated: true, userName: call.scope.owner },
    requestedVersion: call.version ?? '1.0',
    state: new Map([[CALL_KEY, call]]),
    ...(call.scope.tenant === '' ? {} : { tenant: call.scope.tenant }),
  });
}

/** Throws `unauthenticated` when the context names nobody. Contexts made by the SDK's own transports work too. */
export function callOf(context: ServerCallContext): Call {
  const call = (context.state.get(CALL_KEY) as Call | undefined) ?? sdkCall(context);
  if (call.scope.owner !== '') return call;
  throw new LangoError('unauthenticated', 'this operation needs an authenticated caller');
}

function sdkCall({ user, tenant }: ServerCallContext): Call {
  const owner = user?.isAuthenticated === true ? user.userName : '';
  return { scope: { tenant: tenant ?? '', owner }, signal: new AbortController().signal, after: undefined };
}
