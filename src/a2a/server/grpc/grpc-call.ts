import type { Metadata, ServerUnaryCall } from '@grpc/grpc-js';
import { LangoError } from '../../../core/errors.js';
import type { Caller } from '../../../core/identity.js';
import type { Trace } from '../../../core/trace.js';
import { readTrace } from '../../../core/trace.js';
import type { Call } from '../../translate/call.js';
import type { ProtocolVersion } from '../service-parameters.js';
import { CURSOR_PARAMETER, cursorIn } from '../service-parameters.js';
import type { Passage } from './gate.js';
import { textIn } from './metadata.js';

/** A call before its message is understood. */
export type AnyCall = Pick<ServerUnaryCall<Buffer, unknown>, 'metadata' | 'request' | 'sendMetadata'> & {
  once(event: 'cancelled', listener: () => void): unknown;
};

export interface CallFacts extends Passage {
  readonly version: ProtocolVersion;
  /** Aborts when the server stops. */
  readonly closing: AbortSignal;
}

export class GrpcCall implements Call {
  readonly scope: Caller;
  readonly signal: AbortSignal;
  readonly from: string;
  readonly version: ProtocolVersion;
  readonly #metadata: Metadata;

  constructor(call: AnyCall, { scope, from, version, closing }: CallFacts) {
    this.scope = scope;
    this.version = version;
    this.from = from;
    this.#metadata = call.metadata;
    const gone = new AbortController();
    // Also when its deadline has passed. The task goes on.
    call.once('cancelled', () => gone.abort(new LangoError('canceled', 'The client went away.')));
    this.signal = AbortSignal.any([gone.signal, closing]);
  }

  get trace(): Trace | undefined {
    return readTrace((name) => textIn(this.#metadata, name));
  }

  get after(): number | undefined {
    return cursorIn(textIn(this.#metadata, CURSOR_PARAMETER));
  }
}
