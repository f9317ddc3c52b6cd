import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A proxy that requires a token for everything but the card, like a gateway before an agent. */
export class Lock {
  readonly token = 'of-the-lock-7Qf2xW9kLr4TzB6v';
  readonly url: string;
  /** The number of calls with the token. */
  calls = 0;
  readonly #server: Server;

  private constructor(server: Server, target: URL) {
    this.#server = server;
    const { port } = server.address() as AddressInfo;
    this.url = `http://127.0.0.1:${port}${target.pathname}`.replace(/\/$/, '');
    server.on('request', (incoming, outgoing) => {
      const isCard = incoming.url!.includes('/.well-known/');
      const hasToken = incoming.headers.authorization === `Bearer ${this.token}`;
      if (!isCard && !hasToken) return void outgoing.writeHead(401).end('unknown caller');
      if (!isCard) this.calls += 1;
      const { method, headers } = incoming;
      const passed = request(new URL(incoming.url!, target), { method, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(outgoing);
      });
      incoming.pipe(passed);
    });
  }

  static async open(target: string): Promise<Lock> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new Lock(server, new URL(target));
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }
}
