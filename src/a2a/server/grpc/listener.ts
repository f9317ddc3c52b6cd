import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { ServerCredentials } from '@grpc/grpc-js';
import { LangoError, errorText } from '../../../core/errors.js';
import type { TlsMaterial } from '../../../core/http.js';
import type { Logger } from '../../../core/logger.js';
import { Timer } from '../../../core/time.js';

interface ListenerOptions {
  readonly serve: (socket: Socket) => void;
  /** Connections beyond this are closed at once. */
  readonly maxConnections: number;
  readonly logger: Logger;
}

/** Accepts the connections of the gRPC server. The library itself can neither limit them nor close them by force. */
export class Listener {
  readonly #logger: Logger;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor({ serve, maxConnections, logger }: ListenerOptions) {
    this.#logger = logger;
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
      serve(socket);
    });
    this.#server.maxConnections = maxConnections;
  }

  /** Resolves to the port; 0 takes a free one. Rejects with `unavailable` when the address cannot be taken. */
  async listen(host: string, port: number): Promise<number> {
    try {
      await once(this.#server.listen(port, host), 'listening');
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      const problem = code === 'EADDRINUSE' ? 'it is in use already' : (code ?? message);
      throw new LangoError('unavailable', `Cannot listen on ${host}, port ${port}: ${problem}.`, {
        hint: 'Choose another port for gRPC with server.grpc.port (0 takes a free one).',
        cause: error,
      });
    }
    this.#server.on('error', (error) => {
      this.#logger.error('gRPC cannot take a connection', { error: errorText(error) });
    });
    return (this.#server.address() as AddressInfo).port;
  }

  /** Accepts no more connections, and cuts the open ones after `ms`. Resolves once all are closed. */
  async drain(ms: number): Promise<void> {
    using _cut = new Timer(ms, () => {
      for (const socket of this.#sockets) socket.destroy();
    });
    await new Promise<void>((resolve) => void this.#server.close(() => resolve()));
  }
}

/** The library's own credentials support neither revocation lists nor a minimum version of TLS, and cannot be renewed. */
export class TlsCredentials extends ServerCredentials {
  constructor(tls: TlsMaterial, handshakeSeconds: number) {
    const asksClients = { requestCert: tls.ca !== undefined, rejectUnauthorized: tls.ca !== undefined };
    super({ ...asksClients, handshakeTimeout: handshakeSeconds * 1_000 }, { ...tls });
  }

  /** New connections get this material from now on. */
  renew(tls: TlsMaterial): void {
    this.updateSecureContextOptions({ ...tls });
  }

  override _equals(other: ServerCredentials): boolean {
    return other === this;
  }
}
