import type { Metadata, ServerUnaryCall } from '@grpc/grpc-js';
import { LangoError } from '../../../core/errors.js';
import type { Caller, ClientCertificate, Credentials } from '../../../core/identity.js';
import { TRACE_PARAMETER, readTrace } from '../../../core/trace.js';
import type { Call } from '../../translate/call.js';
import type { ProtocolVersion } from '../service-parameters.js';
import { CURSOR_PARAMETER, cursorIn } from '../service-parameters.js';

/** A call before its message is understood. */
export type AnyCall = Pick<
  ServerUnaryCall<Buffer, unknown>,
  'metadata' | 'request' | 'getPeer' | 'getAuthContext' | 'sendMetadata'
> & { once(event: 'cancelled', listener: () => void): unknown };

export interface CallFacts {
  readonly scope: Caller;
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

  constructor(call: AnyCall, { scope, version, closing }: CallFacts) {
    this.scope = scope;
    this.version = version;
    this.from = addressOf(call);
    this.#metadata = call.metadata;
    const gone = new AbortController();
    // Also when its deadline has passed. The task goes on.
    call.once('cancelled', () => gone.abort(new LangoError('canceled', 'The client went away.')));
    this.signal = AbortSignal.any([gone.signal, closing]);
  }

  get trace(): string | undefined {
    return readTrace(textIn(this.#metadata, TRACE_PARAMETER));
  }

  get after(): number | undefined {
    return cursorIn(textIn(this.#metadata, CURSOR_PARAMETER));
  }
}

export function credentialsOf(call: AnyCall): Credentials {
  return {
    authorization: textIn(call.metadata, 'authorization') || undefined,
    address: addressOf(call),
    certificate: () => certificateOf(call),
  };
}

/** One that is not trusted does not get so far: the handshake refuses it. */
function certificateOf(call: AnyCall): ClientCertificate | undefined {
  const { sslPeerCertificate: shown } = call.getAuthContext();
  if (!shown) return undefined;
  const subject = shown.subject as unknown as ClientCertificate['subject'];
  return { problem: undefined, subject, alternativeNames: shown.subjectaltname ?? '' };
}

export function textIn(metadata: Metadata, name: string): string {
  return metadata
    .get(name)
    .map((value) => value.toString())
    .join(',')
    .trim();
}

/** Throws `too-large` for more metadata than there may be headers over HTTP. */
export function assertMetadataSize(metadata: Metadata, maxBytes: number): void {
  let size = 0;
  for (const [name, values] of Object.entries(metadata.toHttp2Headers())) {
    for (const value of [values].flat()) size += name.length + String(value).length;
  }
  if (size > maxBytes) throw new LangoError('too-large', `The metadata is larger than ${maxBytes} bytes.`);
}

/** "::1:50123": everything before the port. */
function addressOf(call: AnyCall): string {
  const peer = call.getPeer();
  return peer.slice(0, peer.lastIndexOf(':'));
}
