import {
  ServerInterceptingCall,
  type Metadata,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
} from '@grpc/grpc-js';
import type { ServerHttp2Stream } from 'node:http2';
import { HeldBytes, type BytesInFlight } from '../../../core/bytes-in-flight.js';
import { LangoError } from '../../../core/errors.js';
import type { Authenticator, Caller, ClientCertificate } from '../../../core/identity.js';
import type { Logger } from '../../../core/logger.js';
import { scopeKey } from '../../../core/task.js';
import { readTrace } from '../../translate/trace.js';
import type { Call } from '../../translate/call.js';
import { CURSOR_PARAMETER, EXTENSIONS_PARAMETERS, cursorIn, extensionsIn } from '../service-parameters.js';
import type { ProtocolVersion } from '../service-parameters.js';
import type { StreamCall, UnaryCall } from './flow-control.js';
import { statusOf } from './status.js';

export interface GateOptions {
  readonly authenticator: Authenticator;
  readonly limits: {
    readonly headerBytes: number;
    readonly bodyBytes: number;
    /** Time a client has from its admission until its message has arrived. */
    readonly bodySeconds: number;
  };
  readonly bytesInFlight: BytesInFlight;
  /** Aborts when the server stops. */
  readonly closing: AbortSignal;
  readonly logger: Logger;
}

/** The data of an admitted call that a handler needs. */
interface Admission {
  readonly scope: Caller;
  readonly from: string;
  /** The bytes of the message and of the response, until the end of the call. */
  readonly held: HeldBytes;
  /** Ends the call and drops what its client has not read. */
  cut(): void;
}

/** Codes of HTTP/2 (RFC 9113 section 7). */
const NO_ERROR = 0x0;
/** Clients report this code as RESOURCE_EXHAUSTED. */
const ENHANCE_YOUR_CALM = 0xb;

/** Admits calls before their message is read, as over HTTP: metadata within its limit, a known caller, and a deadline. */
export class Gate {
  readonly #options: GateOptions;
  readonly #admissions = new WeakMap<Metadata, Admission>();

  constructor(options: GateOptions) {
    this.#options = options;
  }

  readonly interceptor: ServerInterceptor = ({ path }, call) => {
    const { limits, logger } = this.#options;
    const refuse = (error: unknown): void => call.sendStatus(statusOf(error, { path, logger }));
    const refuseLate = (): void =>
      refuse(new LangoError('timeout', `The message did not arrive within ${limits.bodySeconds} s.`));
    let isReceived = false;
    let isOver = false;
    let timer: NodeJS.Timeout | undefined;
    let held: HeldBytes | undefined;
    return new ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata: (metadata, pass) => {
            // The time limit begins after admission, which may delay an address: the library reads the message only then.
            const passOn = (): void => {
              if (!isOver) timer = setTimeout(refuseLate, limits.bodySeconds * 1_000);
              pass(metadata);
            };
            const hold = (bytes: HeldBytes): Promise<void> | undefined => {
              held = bytes;
              if (isOver) held.release();
              // The size of the message is not known before it has arrived.
              return held.add(limits.bodyBytes);
            };
            this.#admit(call, metadata).then(hold).then(passOn).catch(refuse);
          },
          onReceiveMessage(message: Buffer, pass) {
            held?.set(message.length);
            pass(message);
          },
          onReceiveHalfClose(pass) {
            isReceived = true;
            clearTimeout(timer);
            pass();
          },
          /** Runs at the end of every call, also of a completed one. */
          onCancel() {
            isOver = true;
            held?.release();
            clearTimeout(timer);
            if (!isReceived) streamOf(call)?.close(NO_ERROR);
          },
        }),
      // The library reports a passed deadline only after it has sent the status; a message after that would break the stream.
      sendMessage: (message, pass) => void (streamOf(call)?.writableEnded || pass(message)),
    });
  };

  /** The admission of a call, for its handler. */
  admissionOf({ metadata }: { readonly metadata: Metadata }): Admission {
    return this.#admissions.get(metadata)!;
  }

  async #admit(call: ServerInterceptingCallInterface, metadata: Metadata): Promise<HeldBytes> {
    const { authenticator, limits, bytesInFlight, closing } = this.#options;
    if (closing.aborted) throw closing.reason;
    assertMetadataSize(metadata, limits.headerBytes);
    const from = call.getConnectionInfo().remoteAddress ?? 'unknown';
    const scope = await authenticator.authenticate({
      authorization: textIn(metadata, 'authorization') || undefined,
      address: from,
      certificate: () => certificateOf(call),
    });
    const held = new HeldBytes(bytesInFlight, scopeKey(scope));
    const cut = (): void => void streamOf(call)?.close(ENHANCE_YOUR_CALM);
    this.#admissions.set(metadata, { scope, from, held, cut });
    return held;
  }
}

/**
 * The HTTP/2 stream, a member of the call that the first interceptor gets. Closing it ends both halves: the library ends
 * only its own half, so a stream whose client keeps the other half open would stay.
 */
function streamOf(call: ServerInterceptingCallInterface): ServerHttp2Stream | undefined {
  return (call as { readonly stream?: ServerHttp2Stream }).stream;
}

/** The client certificate. The handshake has refused untrusted ones. */
function certificateOf(call: ServerInterceptingCallInterface): ClientCertificate | undefined {
  const { sslPeerCertificate: shown } = call.getAuthContext();
  if (!shown) return undefined;
  const subject = shown.subject as unknown as ClientCertificate['subject'];
  return { problem: undefined, subject, alternativeNames: shown.subjectaltname ?? '' };
}

/** A call whose message is not decoded yet. */
export type AnyCall = UnaryCall | StreamCall;

type CallFacts = Admission & Pick<GateOptions, 'closing'> & { readonly version: ProtocolVersion };

export function grpcCall(call: AnyCall, { scope, from, version, closing }: CallFacts): Call {
  const { metadata } = call;
  const gone = new AbortController();
  // Emitted when the client cancels or its deadline passes. The task goes on.
  call.once('cancelled', () => gone.abort(new LangoError('canceled', 'The client went away.')));
  return {
    ...{ scope, from, version, signal: AbortSignal.any([gone.signal, closing]) },
    trace: readTrace((name) => textIn(metadata, name)),
    extensions: extensionsIn(...EXTENSIONS_PARAMETERS.map((name) => textIn(metadata, name))),
    // Read on first use: a wrong cursor matters to subscriptions alone.
    get after() {
      return cursorIn(textIn(metadata, CURSOR_PARAMETER));
    },
  };
}

/** The values of a metadata key as one text; empty when there are none. */
export function textIn(metadata: Metadata, name: string): string {
  return metadata.get(name).join(',').trim();
}

/** Throws `too-large` for metadata above the limit of HTTP headers. */
function assertMetadataSize(metadata: Metadata, maxBytes: number): void {
  let size = 0;
  for (const [name, values] of Object.entries(metadata.toHttp2Headers()))
    for (const value of [values].flat()) size += name.length + String(value).length;
  if (size > maxBytes) throw new LangoError('too-large', `The metadata is larger than ${maxBytes} bytes.`);
}
