import type { IncomingHttpHeaders } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { smallEmbedding } from './small-embedding.js';

interface EmbeddingRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: { readonly input: readonly string[] } & Readonly<Record<string, unknown>>;
}

/** A response of the server in place of vectors. */
export interface Instead {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface EmbeddingServer {
  readonly baseUrl: string;
  readonly requests: readonly EmbeddingRequest[];
  /** Gives this response to the next `times` requests. */
  instead(answer: Instead, times: number): void;
  close(): Promise<void>;
}

/** Serves the embeddings API of OpenAI, which is Voyage's too. The model is `smallEmbedding`. */
export async function startEmbeddingServer(): Promise<EmbeddingServer> {
  const requests: EmbeddingRequest[] = [];
  const answers: Instead[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as EmbeddingRequest['body'];
      requests.push({ path: request.url ?? '', headers: request.headers, body });
      const instead = answers.shift();
      if (instead) {
        response.writeHead(instead.status, { 'retry-after': '0', ...instead.headers }).end(instead.body);
        return;
      }
      const data = body.input.map((text, index) => ({ index, embedding: smallEmbedding(text) }));
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ data, usage: { total_tokens: 1_000_000 } }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    requests,
    instead: (answer, times) => void answers.push(...Array<Instead>(times).fill(answer)),
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
