import { status as grpcStatus } from '@grpc/grpc-js';
import type { IncomingHttpHeaders, SecureClientSessionOptions } from 'node:http2';
import { connect } from 'node:http2';
import { PATIENCE_MS } from './target.js';

export interface GrpcRequest {
  readonly path: string;
  /** Added to the headers of every call; may replace them. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** The loopback address of the sender. Default: 127.0.0.1. */
  readonly from?: string | undefined;
}

export interface GrpcAnswer {
  /**
   * The name of the status; a number when HTTP refused the call before; `cut` without either, `silent` when nothing
   * came.
   */
  readonly status: number | string;
  /** The text beside the status. */
  readonly reason: string;
  readonly messages: readonly Buffer[];
}

const PREFIX_BYTES = 5;

/** A message in its gRPC frame. The options put errors into the frame's header. */
export function frame(
  message: Buffer,
  { length = message.length, flags = 0 }: { readonly length?: number; readonly flags?: number } = {},
): Buffer {
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt8(flags, 0);
  prefix.writeUInt32BE(length, 1);
  return Buffer.concat([prefix, message]);
}

/** One call over its own connection, without a gRPC library, which would refuse to send most of this. */
export function callGrpc(port: number, { path, metadata, body, from }: GrpcRequest): Promise<GrpcAnswer> {
  return new Promise((resolve) => {
    const session = connect(`http://127.0.0.1:${port}`, { localAddress: from } as SecureClientSessionOptions);
    const chunks: Buffer[] = [];
    const heads: IncomingHttpHeaders[] = [];
    const leave = (without = 'cut'): void => {
      clearTimeout(timer);
      session.destroy();
      const reason = decodeURIComponent(
        String(heads.find((head) => head['grpc-message'])?.['grpc-message'] ?? ''),
      );
      resolve({ status: statusIn(heads) ?? without, reason, messages: messagesIn(Buffer.concat(chunks)) });
    };
    const timer = setTimeout(leave, PATIENCE_MS, 'silent');
    session.on('error', () => leave());
    const call = session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...metadata,
    });
    call.on('response', (head) => void heads.push(head));
    call.on('trailers', (head: IncomingHttpHeaders) => void heads.push(head));
    call.on('data', (chunk: Buffer) => void chunks.push(chunk));
    call.on('error', () => leave()).on('close', () => leave());
    call.end(body);
  });
}

function statusIn(heads: readonly IncomingHttpHeaders[]): number | string | undefined {
  const code = heads.find((head) => head['grpc-status'] !== undefined)?.['grpc-status'];
  if (code !== undefined) return grpcStatus[Number(code)] ?? `status ${String(code)}`;
  const http = Number(heads[0]?.[':status'] ?? 200);
  return http === 200 ? undefined : http;
}

function messagesIn(bytes: Buffer): readonly Buffer[] {
  const messages: Buffer[] = [];
  let at = 0;
  while (at + PREFIX_BYTES <= bytes.length) {
    const start = at + PREFIX_BYTES;
    at = start + bytes.readUInt32BE(at + 1);
    if (at <= bytes.length) messages.push(bytes.subarray(start, at));
  }
  return messages;
}
