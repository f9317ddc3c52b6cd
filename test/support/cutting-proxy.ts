import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer } from 'node:net';

/** A proxy before a server that ends each connection after so many bytes of its response. */
export class CuttingProxy implements AsyncDisposable {
  cuts = 0;
  readonly #target: number;
  readonly #bytes: () => number;
  readonly #server = createServer((client) => this.#pass(client));
  readonly #sockets = new Set<Socket>();

  /**
   * `bytes` returns for each connection the number of bytes of the response to let through; Infinity lets all through.
   */
  static async open(target: number, bytes: () => number): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(target, bytes);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  private constructor(target: number, bytes: () => number) {
    this.#target = target;
    this.#bytes = bytes;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #pass(client: Socket): void {
    const server = connect(this.#target, '127.0.0.1');
    let left = this.#bytes();
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        client.destroy();
        server.destroy();
      });
    }
    client.pipe(server);
    server.on('data', (chunk) => {
      if (chunk.length < left) {
        left -= chunk.length;
        client.write(chunk);
        return;
      }
      if (client.destroyed) return;
      this.cuts += 1;
      // The last bytes arrive, then the connection is gone.
      client.write(chunk.subarray(0, left), () => client.destroy());
      server.destroy();
    });
    server.on('end', () => client.end());
  }
}
