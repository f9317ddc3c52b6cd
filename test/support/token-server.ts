import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A plain HTTP server that records its requests, and responds by `answer`. */
export class RecordingServer implements AsyncDisposable {
  readonly received: Received[] = [];
  answer: (request: Received, response: ServerResponse) => void = (_, response) =>
    void response.writeHead(404).end();
  readonly #server = createServer((request, response) => {
    response.on('error', () => {});
    void text(request)
      .then((body) => {
        const { method = '', url = '', headers } = request;
        const received = { method, url, headers, body };
        this.received.push(received);
        this.answer(received, response);
      })
      .catch(() => response.destroy());
  });

  static async open(): Promise<RecordingServer> {
    const server = new RecordingServer();
    await once(server.#server.listen(0, '127.0.0.1'), 'listening');
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }
}

/** An issuer of access tokens: its metadata names `/token`, which responds with the result of `grant`. */
export async function openTokenServer(
  grant: (form: URLSearchParams, request: Received) => unknown,
): Promise<RecordingServer> {
  const server = await RecordingServer.open();
  server.answer = (request, response) => {
    response.setHeader('content-type', 'application/json');
    if (request.url !== '/token') {
      response.end(JSON.stringify({ issuer: server.url, token_endpoint: `${server.url}/token` }));
      return;
    }
    void Promise.resolve(grant(new URLSearchParams(request.body), request)).then((answer) =>
      answer === undefined
        ? response.writeHead(401).end('{"error":"invalid_client"}')
        : response.end(JSON.stringify(answer)),
    );
  };
  return server;
}

/** The requests for a token. */
export function tokenRequests({ received }: RecordingServer): readonly Received[] {
  return received.filter(({ url }) => url === '/token');
}
