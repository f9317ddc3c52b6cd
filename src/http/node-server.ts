import type { Server, ServerOptions } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { LangoError } from '../core/errors.js';
import type { TlsMaterial } from '../core/http.js';
import { errorBody } from './errors.js';

/** Not imported, because an import reads all exports of the module, and one of them loads a WebSocket client (about 5 MB). */
const { createServer } = process.getBuiltinModule('node:http');

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

const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

const FAULTS: Readonly<Record<string, readonly [number, string, string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'INVALID_ARGUMENT', 'The headers are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'DEADLINE_EXCEEDED', 'The request did not arrive in time.'],
};
const CLOSE_GRACE_MS = 1_000;
const MALFORMED = [400, 'INVALID_ARGUMENT', 'The request is not valid HTTP.'] as const;

/** Refuses a request that is not valid HTTP (Node's `clientError`) and closes the connection. */
export function refuseBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  // A client whose TLS handshake failed could not read a response.
  if (!socket.writable || error.code === 'ECONNRESET' || error.code?.startsWith('ERR_SSL')) {
    socket.destroy();
    return;
  }
  const [code, status, message] = FAULTS[error.code ?? ''] ?? MALFORMED;
  const text = `${JSON.stringify(errorBody([code, status], message))}\n`;
  // Closes the connection after the client had time to read the response, even if the client keeps its side open.
  setTimeout(() => socket.destroy(), CLOSE_GRACE_MS).unref();
  const type = 'Content-Type: application/json; charset=utf-8';
  const length = `Content-Length: ${Buffer.byteLength(text)}`;
  socket.end([`HTTP/1.1 ${code} ${status}`, type, length, 'Connection: close', '', text].join('\r\n'));
}

/** The problem with a port, and the advice, by the error code of the system. */
const PORT_PROBLEMS: Readonly<Record<string, readonly [problem: string, hint: string]>> = {
  EADDRINUSE: [
    'is already in use.',
    'Choose another with --port (0 takes a free one), or stop the program that uses it.',
  ],
  EACCES: ['is not open to this user.', 'Choose a port above 1023 with --port.'],
};

export function cannotListen(cause: NodeJS.ErrnoException, host: string, port: number): LangoError {
  const known = PORT_PROBLEMS[cause.code ?? ''];
  const message = known
    ? `Port ${port} on ${host} ${known[0]}`
    : `Cannot listen on ${host}, port ${port}: ${cause.code ?? cause.message}.`;
  return new LangoError('unavailable', message, {
    hint: known?.[1] ?? 'Check server.host and server.port.',
    cause,
  });
}
