import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { KEYS } from './persons.js';

/** Responds to one request. */
export type Responder = (request: IncomingMessage, response: ServerResponse) => void;

/** A foreign server: a peer, a model vendor, a web site. It responds as the last case set it, and is the issuer too. */
export class Stranger implements AsyncDisposable {
  answer: Responder = (_, response) => void response.writeHead(404).end();
  readonly #server: Server = createServer((request, response) => {
    request.resume();
    response.on('error', () => {});
    if (request.url === '/jwks') give(response, KEYS);
    else this.answer(request, response);
  });

  static async open(): Promise<Stranger> {
    const stranger = new Stranger();
    await once(stranger.#server.listen(0, '127.0.0.1'), 'listening');
    return stranger;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Closes all open connections. */
  cut(): void {
    this.#server.closeAllConnections();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.cut();
    await once(this.#server, 'close');
  }
}

/** A private address that no input may reach. It counts connections and datagrams. */
export class Inside implements AsyncDisposable {
  readonly #server = createTcpServer((socket) => {
    this.visits += 1;
    socket.destroy();
  });
  readonly #datagrams = createSocket('udp4', () => (this.visits += 1));
  visits = 0;

  static async open(): Promise<Inside> {
    const inside = new Inside();
    await once(inside.#server.listen(0, '127.0.0.1'), 'listening');
    inside.#datagrams.bind(inside.port, '127.0.0.1');
    await once(inside.#datagrams, 'listening');
    return inside;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#datagrams.close();
    await once(this.#server.close(), 'close');
  }
}

/** A valid agent card of the agent at `url`. */
export function cardAt(url: string): Record<string, unknown> {
  return {
    name: 'stranger',
    description: 'Does what it likes.',
    version: '1',
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: { streaming: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'any', name: 'Any', description: 'Anything.', tags: ['any'] }],
  };
}

/** Responds with a value as JSON, or with the given bytes. */
export function give(response: ServerResponse, body: unknown, type = 'application/json'): void {
  response.setHeader('content-type', type);
  response.end(typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body));
}
