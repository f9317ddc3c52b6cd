import type { Server, ServerOptions } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { Socket } from 'node:net';
import type { TlsMaterial } from './tls.js';

/** Not imported: that reads every export of the module, and one of them loads a whole WebSocket client (some 5 MB). */
const { createServer } = process.getBuiltinModule('node:http');

/** Node's server, for plain HTTP or over TLS. */
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
    // Cards are for everybody: who needs to be known is looked at where a caller is asked for.
    rejectUnauthorized: false,
  });
}

/** From now on new connections get this certificate, and are asked for one of these authorities. */
export function renewCertificates(server: Server | SecureServer, tls: TlsMaterial): void {
  if ('setSecureContext' in server) server.setSecureContext(tls);
}

/** Connections on which no request has come yet. Node does not count them among the idle ones. */
export class SilentConnections {
  readonly #sockets = new Set<Socket>();
  /** In the middle of their handshake, by their address and port. */
  readonly #shakingHands = new Map<string, Socket>();

  constructor(server: Server | SecureServer) {
    const isSecure = 'setSecureContext' in server;
    server.on('connection', (socket: Socket) => {
      if (isSecure) this.#keep(socket);
      else this.#add(socket);
    });
    if (!isSecure) return;
    server.on('secureConnection', (socket: Socket) => {
      this.#shakingHands.delete(placeOf(socket));
      this.#add(socket);
    });
  }

  /** A request came on it. */
  heard(socket: Socket): void {
    this.#sockets.delete(socket);
  }

  destroy(): void {
    for (const socket of [...this.#sockets, ...this.#shakingHands.values()]) socket.destroy();
  }

  #add(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
  }

  #keep(socket: Socket): void {
    const place = placeOf(socket);
    this.#shakingHands.set(place, socket);
    socket.once('close', () => this.#shakingHands.delete(place));
  }
}

function placeOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
