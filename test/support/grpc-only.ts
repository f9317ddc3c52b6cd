import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A host of nothing but cards: those of `origin`, with no interface but gRPC 1.0 on them. */
export interface CardHost extends AsyncDisposable {
  readonly url: string;
}

interface Card {
  readonly supportedInterfaces: readonly {
    readonly protocolBinding: string;
    readonly protocolVersion: string;
  }[];
}

export async function openGrpcOnlyHost(origin: string): Promise<CardHost> {
  const server = createServer((request, response) => {
    void fetch(`${origin}${request.url}`, { headers: { 'A2A-Version': '1.0' } })
      .then(async (answer) => {
        const isCard = answer.ok && request.method === 'GET' && request.url!.endsWith('agent-card.json');
        if (!isCard) return response.writeHead(404).end();
        const { supportedInterfaces, ...card } = (await answer.json()) as Card;
        const grpc = supportedInterfaces.filter(
          ({ protocolBinding, protocolVersion }) => protocolBinding === 'GRPC' && protocolVersion === '1.0',
        );
        return response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ ...card, supportedInterfaces: grpc }));
      })
      .catch(() => response.writeHead(502).end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
