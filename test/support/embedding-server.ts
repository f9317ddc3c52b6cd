import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const DIMENSION = 256;
/** What the model of these tests knows of the world: words of one line mean the same. */
const MEANINGS = [
  ['car', 'automobile', 'vehicle', '자동차', '汽车'],
  ['doctor', 'physician', '의사', '医生'],
  ['purchase', 'buy', 'acquire', '구매', '购买'],
  ['error', 'failure', 'fault', '오류', '错误'],
].map((words) => new Set(words));

export interface EmbeddingServer {
  readonly baseUrl: string;
  /** Answers the next so many requests with this status. */
  fail(status: number, times: number): void;
  close(): Promise<void>;
}

/** Speaks the embeddings API of OpenAI. The model is real, small and simple: hashed words, synonyms counted as one. */
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
      const data = input.map((text, index) => ({ index, embedding: [...embed(text)] }));
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

function embed(text: string): Float64Array {
  const vector = new Float64Array(DIMENSION);
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) {
    const meaning = MEANINGS.findIndex((words) => words.has(word));
    const name = meaning === -1 ? word : `meaning ${meaning}`;
    let hash = 2166136261;
    for (const character of name) hash = Math.imul(hash ^ character.codePointAt(0)!, 16777619);
    vector[(hash >>> 0) % DIMENSION]! += meaning === -1 ? 1 : 3;
  }
  vector[0]! += 0.01;
  return vector;
}
