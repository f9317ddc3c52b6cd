import { decodeErrorInfo, decodeStatus } from '@a2a-js/sdk/errors/grpc';
import { A2AService } from '@a2a-js/sdk/server/grpc';
import { status as grpcStatus } from '@grpc/grpc-js';
import { once } from 'node:events';
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders, Settings } from 'node:http2';
import { connect } from 'node:http2';
import { frame } from '../../lab/abuse/fuzz/grpc-call.js';
import { request } from '../suites/a2a-operations.js';

/** gRPC by hand, for calls that no library allows: half a call, a call too many, a silent connection. */
export class RawGrpc implements Disposable {
  readonly session: ClientHttp2Session;
  readonly #token: string;

  constructor(port: number, token: string, settings: Settings = {}) {
    this.session = connect(`http://127.0.0.1:${port}`, { settings });
    this.session.on('error', () => {});
    this.#token = token;
  }

  /** Sends the head of a call, and nothing else yet. */
  begin(method: keyof A2AService = 'sendMessage', metadata: Readonly<Record<string, string>> = {}): RawCall {
    const stream = this.session.request(
      {
        ':method': 'POST',
        ':path': A2AService[method].path,
        'content-type': 'application/grpc',
        te: 'trailers',
        authorization: `Bearer ${this.#token}`,
        ...metadata,
      },
      { endStream: false },
    );
    return new RawCall(stream);
  }

  /** Resolves once the server has read everything that was sent. */
  async heard(): Promise<void> {
    if (this.session.connecting) await once(this.session, 'connect');
    await new Promise<void>((resolve) => void this.session.ping(() => resolve()));
  }

  [Symbol.dispose](): void {
    this.session.destroy();
  }
}

export interface RawAnswer {
  /** The name of the status; undefined when none came. */
  readonly status: string | undefined;
  readonly message: string;
  /** The reason in google.rpc.ErrorInfo. */
  readonly reason: string | undefined;
  /** The delay in google.rpc.RetryInfo. */
  readonly retrySeconds: number | undefined;
  readonly head: IncomingHttpHeaders;
  /** The error code of HTTP/2 with which the stream was closed. */
  readonly code: number;
}

export class RawCall {
  readonly stream: ClientHttp2Stream;
  /** Resolves once either side has closed the stream. */
  readonly answer: Promise<RawAnswer>;

  constructor(stream: ClientHttp2Stream) {
    this.stream = stream;
    const head: IncomingHttpHeaders = {};
    const add = (more: IncomingHttpHeaders): void => void Object.assign(head, more);
    stream.on('response', add).on('trailers', add);
    stream.on('error', () => {}).resume();
    this.answer = new Promise((resolve) => {
      stream.on('close', () => resolve(answerIn(head, stream)));
    });
  }
}

/** A message in its frame, for an agent. */
export function framedMessage(text: string, tenant = 'worker'): Buffer {
  return frame(A2AService.sendMessage.requestSerialize({ ...request(text), tenant }));
}

function answerIn(head: IncomingHttpHeaders, { rstCode }: ClientHttp2Stream): RawAnswer {
  const told = head['grpc-status-details-bin'];
  const details = told === undefined ? [] : decodeStatus(Buffer.from(String(told), 'base64')).details;
  const info = details.find(({ typeUrl }) => typeUrl.endsWith('ErrorInfo'));
  const code = head['grpc-status'];
  return {
    status: code === undefined ? undefined : grpcStatus[Number(code)],
    message: decodeURIComponent(String(head['grpc-message'] ?? '')),
    reason: info && decodeErrorInfo(info.value).reason,
    // A Duration of few seconds in field 1: two heads, a tag, one byte.
    retrySeconds: details.find(({ typeUrl }) => typeUrl.endsWith('RetryInfo'))?.value.at(3),
    head,
    code: rstCode ?? -1,
  };
}
