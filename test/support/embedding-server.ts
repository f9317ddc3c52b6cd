import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { smallEmbedding } from './small-embedding.js';

export interface EmbeddingServer {
  readonly baseUrl: string;
  /** Answers the next so many requests with this status. */
  fail(status: number, times: number): void;
  close(): Promise<void>;
}

/** Speaks the embeddings API of OpenAI. The model is `smallEmbedding`. */
export async function startEmbeddingServer(): Promise<EmbeddingServer> {
  let failing = { status: 0, times: 0 };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (failing.times > 0) {
        failing = { ...failing, times: failing.times - 1 };
        response.writeHead(failing.status, { 'retry-after': '0' }).end();
        return;
      }
      const { input } = JSON.parse(Buffer.concat(chunks).toString()) as { readonly input: readonly string[] };
      const data = input.map((text, index) => ({ index, embedding: smallEmbedding(text) }));
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    fail: (status, times) => void (failing = { status, times }),
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
