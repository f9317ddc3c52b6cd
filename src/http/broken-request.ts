import type { Duplex } from 'node:stream';
import { httpErrorBody } from './errors.js';

const ANSWERS: Readonly<Record<string, readonly [number, string, string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'INVALID_ARGUMENT', 'The headers are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'DEADLINE_EXCEEDED', 'The request did not arrive in time.'],
};
const LINGER_MS = 1_000;
const MALFORMED = [400, 'INVALID_ARGUMENT', 'The request is not valid HTTP.'] as const;

/** Answers what could not be read as HTTP at all (node's `clientError`), and closes. */
export function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  // What fails in the handshake could not read an answer.
  if (!socket.writable || error.code === 'ECONNRESET' || error.code?.startsWith('ERR_SSL')) {
    socket.destroy();
    return;
  }
  const [code, status, message] = ANSWERS[error.code ?? ''] ?? MALFORMED;
  const text = `${JSON.stringify(httpErrorBody(code, status, message))}\n`;
  // The answer gets its way out; a client that never closes its own side does not keep the connection.
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.end(
    [
      `HTTP/1.1 ${code} ${status}`,
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(text)}`,
      'Connection: close',
      '',
      text,
    ].join('\r\n'),
  );
}
