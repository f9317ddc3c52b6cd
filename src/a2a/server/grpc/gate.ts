import { ServerInterceptingCall } from '@grpc/grpc-js';
import type { Metadata, ServerInterceptingCallInterface, ServerInterceptor } from '@grpc/grpc-js';
import type { ServerHttp2Stream } from 'node:http2';
import { LangoError } from '../../../core/errors.js';
import type { Authenticator, Caller, ClientCertificate } from '../../../core/identity.js';
import type { Logger } from '../../../core/logger.js';
import { assertMetadataSize, textIn } from './metadata.js';
import { statusOf } from './status.js';

export interface GateOptions {
  readonly authenticator: Authenticator;
  readonly limits: {
    readonly headerBytes: number;
    /** Time a client has from the beginning of a call until its message is whole. */
    readonly bodySeconds: number;
  };
  /** Aborts when the server stops. */
  readonly closing: AbortSignal;
  readonly logger: Logger;
}

/** A call that was let in. */
export interface Passage {
  readonly scope: Caller;
  /** The client's address. */
  readonly from: string;
  /** Ends the call with all that still waits for its client to take it. */
  cut(): void;
}

/** Codes of HTTP/2 (RFC 9113 section 7). */
const NO_ERROR = 0x0;
/** Clients tell it as RESOURCE_EXHAUSTED. */
const ENHANCE_YOUR_CALM = 0xb;

/** What a call passes before its message is read, as over HTTP: so much metadata, a caller who is known, and a time for the rest. */
export class Gate {
  readonly #options: GateOptions;
  readonly #passages = new WeakMap<Metadata, Passage>();

  constructor(options: GateOptions) {
    this.#options = options;
  }

  readonly interceptor: ServerInterceptor = ({ path }, call) => {
    const { limits, logger } = this.#options;
    const refuse = (error: unknown): void => call.sendStatus(statusOf(error, { path, logger }));
    const tooLate = (): void => refuse(late(limits.bodySeconds));
    let isWhole = false;
    let timer: NodeJS.Timeout;
    return new ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata: (metadata, pass) => {
            timer = setTimeout(tooLate, limits.bodySeconds * 1_000);
            this.#admit(call, metadata).then(() => pass(metadata), refuse);
          },
          onReceiveHalfClose(pass) {
            isWhole = true;
            clearTimeout(timer);
            pass();
          },
          /** However the call ended. */
          onCancel() {
            clearTimeout(timer);
            if (!isWhole) reset(call, NO_ERROR);
          },
        }),
      // The library tells us of a deadline once its status is out; written before that, a message would break the stream.
      sendMessage: (message, pass) => void (streamOf(call)?.writableEnded || pass(message)),
    });
  };

  /** Of a call that has come to a handler. */
  passage({ metadata }: { readonly metadata: Metadata }): Passage {
    return this.#passages.get(metadata)!;
  }

  async #admit(call: ServerInterceptingCallInterface, metadata: Metadata): Promise<void> {
    const { authenticator, limits, closing } = this.#options;
    if (closing.aborted) throw closing.reason;
    assertMetadataSize(metadata, limits.headerBytes);
    const from = call.getConnectionInfo().remoteAddress ?? 'unknown';
    const scope = await authenticator.authenticate({
      authorization: textIn(metadata, 'authorization') || undefined,
      address: from,
      certificate: () => certificateOf(call),
    });
    this.#passages.set(metadata, { scope, from, cut: () => reset(call, ENHANCE_YOUR_CALM) });
  }
}

/**
 * The library ends its own half of a stream only, so one whose client never ends the other half would stay, and has no
 * word for ending both; the stream itself is in what it gives to the first interceptor.
 */
function reset(call: ServerInterceptingCallInterface, code: number): void {
  streamOf(call)?.close(code);
}

function streamOf(call: ServerInterceptingCallInterface): ServerHttp2Stream | undefined {
  return (call as { readonly stream?: ServerHttp2Stream }).stream;
}

function late(seconds: number): LangoError {
  return new LangoError('timeout', `The message did not arrive within ${seconds} s.`);
}

/** One that is not trusted does not get so far: the handshake refuses it. */
function certificateOf(call: ServerInterceptingCallInterface): ClientCertificate | undefined {
  const { sslPeerCertificate: shown } = call.getAuthContext();
  if (!shown) return undefined;
  const subject = shown.subject as unknown as ClientCertificate['subject'];
  return { problem: undefined, subject, alternativeNames: shown.subjectaltname ?? '' };
}
