import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';

/** Serves the cards of another server under a host, with the interfaces of one binding in version 1.0 only. */
export interface CardHost extends AsyncDisposable {
  readonly url: string;
  /** The requests that it passed on, as in "POST /agents/librarian/message:stream", without those for cards. */
  readonly passedOn: readonly string[];
}

interface Card {
  readonly supportedInterfaces: readonly {
    readonly protocolBinding: string;
    readonly protocolVersion: string;
    readonly url: string;
  }[];
}

/**
 * GRPC: serves cards only, as calls go to the port that they name. HTTP+JSON: all requests go through this host to
 * `origin`.
 */
export async function openCardHost(
  origin: string,
  binding: 'GRPC' | 'HTTP+JSON' = 'GRPC',
): Promise<CardHost> {
  const passedOn: string[] = [];
  let url = '';
  const answerCard = async (path: string, response: ServerResponse): Promise<void> => {
    const answer = await fetch(`${origin}${path}`, { headers: { 'A2A-Version': '1.0' } });
    if (!answer.ok) return void response.writeHead(404).end();
    const card = (await answer.json()) as Card;
    const supportedInterfaces = card.supportedInterfaces
      .filter((one) => one.protocolBinding === binding && one.protocolVersion === '1.0')
      .map((one) => ({ ...one, url: one.url.replace(origin, url) }));
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ ...card, supportedInterfaces }));
  };
  const passOn = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    passedOn.push(`${request.method} ${request.url}`);
    const { host: _, connection: __, ...headers } = request.headers;
    const hasBody = request.method !== 'GET' && request.method !== 'HEAD';
    const answer = await fetch(`${origin}${request.url}`, {
      method: request.method!,
      headers: headers as Record<string, string>,
      ...(hasBody && { body: await buffer(request) }),
    });
    const type = answer.headers.get('content-type');
    response.writeHead(answer.status, type === null ? {} : { 'content-type': type });
    if (answer.body) await pipeline(Readable.fromWeb(answer.body), response);
    else response.end();
  };
  const server = createServer((request, response) => {
    const isCard = request.method === 'GET' && request.url!.endsWith('agent-card.json');
    if (!isCard && binding === 'GRPC') {
      response.writeHead(404).end();
      return;
    }
    const done = isCard ? answerCard(request.url!, response) : passOn(request, response);
    void done.catch(() => (response.headersSent ? response.destroy() : response.writeHead(502).end()));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    passedOn,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
