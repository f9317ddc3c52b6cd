import { ServerCallContext } from '@a2a-js/sdk/server';
import { LangoError } from '../../core/errors.js';
import type { Caller } from '../../core/identity.js';
import type { Trace } from '../../core/task.js';

/** The data of a call besides its parameters, over any transport. */
export interface Call {
  readonly scope: Caller;
  /** The operator of this server who reads the data of `scope`, and may change nothing. */
  readonly viewer?: Caller | undefined;
  /** Aborting it ends waiting and streaming, never the task. */
  readonly signal: AbortSignal;
  /** For a subscription: the `seq` of the last event the caller saw. */
  readonly after: number | undefined;
  /** The client's address; absent inside the process. */
  readonly from?: string;
  /** The address under which the client reached this server; absent inside the process and over gRPC. */
  readonly baseUrl?: string;
  readonly trace?: Trace | undefined;
  /** The protocol version of the client. Default: 1.0. */
  readonly version?: string;
  /** The extensions that the client asked for. Inside the process undefined: the caller gets the metadata of all. */
  readonly extensions?: ReadonlySet<string> | undefined;
}

const CALL_KEY = 'lango.call';

/** Wraps a call into the SDK's context, so that any of its transports can carry it. */
export function toCallContext(call: Call): ServerCallContext {
  return new ServerCallContext({
    user: { isAuthenticated: true, userName: call.scope.owner },
    requestedVersion: call.version ?? '1.0',
    state: new Map([[CALL_KEY, call]]),
    ...(call.extensions === undefined ? {} : { requestedExtensions: [...call.extensions] }),
    ...(call.scope.tenant === '' ? {} : { tenant: call.scope.tenant }),
  });
}

/** Returns the call of a context, also of one that the SDK's own transport made. Throws `unauthenticated` without a user. */
export function callOf(context: ServerCallContext): Call {
  const call = (context.state.get(CALL_KEY) as Call | undefined) ?? sdkCall(context);
  if (call.scope.owner !== '') return call;
  throw new LangoError('unauthenticated', 'This operation needs an authenticated caller.', {
    hint: 'Give the context a user whose isAuthenticated is true.',
  });
}

function sdkCall({ user, tenant, requestedExtensions = [] }: ServerCallContext): Call {
  const owner = user?.isAuthenticated === true ? user.userName : '';
  const { signal } = new AbortController();
  const extensions = new Set(requestedExtensions);
  return { scope: { tenant: tenant ?? '', owner }, signal, after: undefined, extensions };
}
