import type { Server, ServerOptions } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { LangoError } from '../core/errors.js';
import { httpErrorBody } from './errors.js';
import type { TlsMaterial } from './tls.js';

/** Not imported, because an import reads all exports of the module, and one of them loads a WebSocket client (about 5 MB). */
const { createServer } = process.getBuiltinModule('node:http');

/** Makes Node's server, for plain HTTP or over TLS. */
export function createNodeServer(
  options: ServerOptions,
  tls: TlsMaterial | undefined,
): Server | SecureServer {
  if (!tls) return createServer(options);
  const secure = process.getBuiltinModule('node:https');
  return secure.createServer({
    ...options,
    ...tls,
    handshakeTimeout: options.headersTimeout,
    requestCert: tls.ca !== undefined,
    // Cards are public. Routes that need a caller check the certificate.
    rejectUnauthorized: false,
  });
}

/** Uses this certificate, and these authorities for client certificates, on new connections. */
export function renewCertificates(server: Server | SecureServer, tls: TlsMaterial): void {
  if ('setSecureContext' in server) server.setSecureContext(tls);
}

/** Tracks the connections that sent no request yet. Node does not count them as idle. */
export class SilentConnections {
  readonly #sockets = new Set<Socket>();
  /** Connections in their TLS handshake, by address and port. */
  readonly #inHandshake = new Map<string, Socket>();

  constructor(server: Server | SecureServer) {
    const isSecure = 'setSecureContext' in server;
    server.on('connection', (socket: Socket) => {
      if (isSecure) this.#addInHandshake(socket);
      else this.#add(socket);
    });
    if (!isSecure) return;
    server.on('secureConnection', (socket: Socket) => {
      this.#inHandshake.delete(peerOf(socket));
      this.#add(socket);
    });
  }

  /** Call it when a request arrives on a connection. */
  requestArrived(socket: Socket): void {
    this.#sockets.delete(socket);
  }

  destroy(): void {
    for (const socket of [...this.#sockets, ...this.#inHandshake.values()]) socket.destroy();
  }

  #add(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
  }

  #addInHandshake(socket: Socket): void {
    const peer = peerOf(socket);
    this.#inHandshake.set(peer, socket);
    socket.once('close', () => this.#inHandshake.delete(peer));
  }
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

const ANSWERS: Readonly<Record<string, readonly [number, string, string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'INVALID_ARGUMENT', 'The headers are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'DEADLINE_EXCEEDED', 'The request did not arrive in time.'],
};
const CLOSE_GRACE_MS = 1_000;
const MALFORMED = [400, 'INVALID_ARGUMENT', 'The request is not valid HTTP.'] as const;

/** Answers a request that is not valid HTTP (Node's `clientError`) and closes the connection. */
export function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  // A client whose TLS handshake failed could not read an answer.
  if (!socket.writable || error.code === 'ECONNRESET' || error.code?.startsWith('ERR_SSL')) {
    socket.destroy();
    return;
  }
  const [code, status, message] = ANSWERS[error.code ?? ''] ?? MALFORMED;
  const text = `${JSON.stringify(httpErrorBody(code, status, message))}\n`;
  // Closes the connection after the client had time to read the answer, even if the client keeps its side open.
  setTimeout(() => socket.destroy(), CLOSE_GRACE_MS).unref();
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

/** The error for an address that the server cannot listen on. */
export function cannotListen(cause: NodeJS.ErrnoException, host: string, port: number): LangoError {
  switch (cause.code) {
    case 'EADDRINUSE':
      return new LangoError('unavailable', `Port ${port} on ${host} is already in use.`, {
        hint: 'Choose another with --port (0 takes a free one), or stop the program that uses it.',
        cause,
      });
    case 'EACCES':
      return new LangoError('unavailable', `Port ${port} on ${host} is not open to this user.`, {
        hint: 'Choose a port above 1023 with --port.',
        cause,
      });
    default:
      return new LangoError(
        'unavailable',
        `Cannot listen on ${host}, port ${port}: ${cause.code ?? cause.message}.`,
        { hint: 'Check server.host and server.port.', cause },
      );
  }
}
