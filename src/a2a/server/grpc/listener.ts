import type { Server, Socket } from 'node:net';
import { createServer } from 'node:net';
import { LangoError, errorText } from '../../../core/errors.js';
import type { Logger } from '../../../core/logger.js';

export interface ListenerOptions {
  readonly serve: (socket: Socket) => void;
  /** At the same time; those beyond are closed at once. */
  readonly connections: number;
  readonly logger: Logger;
}

/** Takes connections for who serves them: the library would let go of none by force, and has no word for too many. */
export class Listener {
  readonly #logger: Logger;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor({ serve, connections, logger }: ListenerOptions) {
    this.#logger = logger;
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
      serve(socket);
    });
    this.#server.maxConnections = connections;
  }

  /** Resolves to the port; 0 takes a free one. Rejects with `unavailable` when the address cannot be taken. */
  listen(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      const fail = (cause: NodeJS.ErrnoException): void =>
        reject(cannotListen(cause, `${host}, port ${port}`));
      this.#server.once('error', fail);
      this.#server.listen(port, host, () => {
        this.#server.off('error', fail);
        this.#server.on('error', (error) => {
          this.#logger.error('gRPC cannot take a connection', { error: errorText(error) });
        });
        const address = this.#server.address();
        resolve(typeof address === 'object' && address !== null ? address.port : port);
      });
    });
  }

  /** Takes no more, and cuts what is left after so many milliseconds. Resolves once nothing is left. */
  async drain(ms: number): Promise<void> {
    const cut = setTimeout(() => {
      for (const socket of this.#sockets) socket.destroy();
    }, ms);
    await new Promise<void>((resolve) => void this.#server.close(() => resolve()));
    clearTimeout(cut);
  }
}

function cannotListen(cause: NodeJS.ErrnoException, where: string): LangoError {
  const problem = cause.code === 'EADDRINUSE' ? 'it is in use already' : (cause.code ?? cause.message);
  return new LangoError('unavailable', `Cannot listen on ${where}: ${problem}.`, {
    hint: 'Choose another port for gRPC with server.grpc.port (0 takes a free one).',
    cause,
  });
}
