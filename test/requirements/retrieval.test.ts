import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { EmbeddingServer } from '../support/embedding-server.js';
import { startEmbeddingServer } from '../support/embedding-server.js';
import type { TestServer } from '../support/server.js';
import { doings, sendText, withServer } from '../support/server.js';
import { until } from '../support/until.js';

const BARE = {
  server: { port: 0 },
  tools: { knowledge: { enabled: true }, search: { enabled: true } },
  graph: { enabled: false },
};

describe('B2 retrieval by meaning', () => {
  let embeddings: EmbeddingServer;
  beforeAll(async () => void (embeddings = await startEmbeddingServer()));
  afterAll(() => embeddings.close());

  const settings = () => ({
    ...BARE,
    embedding: { provider: 'openai' as const, model: 'test', baseUrl: embeddings.baseUrl },
  });

  it('finds a stored entry by other words, across languages, and after an overload of the service', async () => {
    embeddings.instead({ status: 429 }, 1);
    await withServer({ settings: settings() }, async (server) => {
      await sendText(server, 'save knowledge fleet: each vehicle is inspected in May');
      await sendText(server, 'save knowledge clinic: the physician comes on Tuesday');
      await sendText(server, 'save knowledge shop: we 구매 paper every week');
      await embedded(server);
      for (const [question, text] of [
        ['car', /1\. fleet/],
        ['자동차', /1\. fleet/],
        ['doctor', /1\. clinic/],
        ['purchase', /1\. shop/],
      ] as const) {
        const found = await sendText(server, `retrieve passages about ${question}`);
        expect(doings(found)).toContain('librarian: tool-call rag_retrieve');
        expect(found.end.text).toMatch(text);
      }
    });
  });

  it('finds nothing for an unrelated question, and the nearest text when the threshold is -1', async () => {
    const home = await mkdtemp(path.join(tmpdir(), 'lango-floor-'));
    const ask = async (server: TestServer) =>
      (await sendText(server, 'retrieve passages about zebras')).end.text;
    await withServer({ home, settings: settings() }, async (server) => {
      await sendText(server, 'save knowledge fleet: each vehicle is inspected in May');
      await sendText(server, 'save knowledge clinic: the physician comes on Tuesday');
      await embedded(server);
      expect(await ask(server)).not.toMatch(/fleet|clinic/);
    });
    const all = { ...settings(), embedding: { ...settings().embedding, minSimilarity: -1 } };
    await withServer({ home, settings: all }, async (server) => {
      expect(await ask(server)).toMatch(/clinic|fleet/);
    });
    await rm(home, { recursive: true });
  });

  it('searches by words, and says so, while the embedding server fails', async () => {
    await withServer(
      { settings: { ...settings(), embedding: { ...settings().embedding, maxRetries: 0 } } },
      async (server) => {
        await sendText(server, 'save knowledge fleet: each vehicle is inspected in May');
        await embedded(server);
        embeddings.instead({ status: 503 }, 1);
        const found = await sendText(server, 'what do you know about the vehicle?');
        expect(found.end.text).toMatch(/1\. fleet/);
        expect(found.end.text).toMatch(/Searched by words only/);
      },
    );
  });
});

/** Waits until the vectors are computed, which happens in the background: only they find this word. */
async function embedded(server: TestServer): Promise<void> {
  await until(async () => {
    const found = await sendText(server, 'retrieve passages about automobile');
    return /1\. fleet/.test(found.end.text);
  });
}
