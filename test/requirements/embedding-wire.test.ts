import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { EmbeddingServer, Instead } from '../support/embedding-server.js';
import { startEmbeddingServer } from '../support/embedding-server.js';
import { smallEmbedding } from '../support/small-embedding.js';
import type { TestServer } from '../support/server.js';
import { sendText, withServer } from '../support/server.js';
import { until } from '../support/until.js';

const KEY = 'embedding-key-0123456789';
const QUESTION = 'retrieve passages about automobile';

describe.each(['openai', 'voyage'] as const)('B2 embeddings in the wire format of %s', (provider) => {
  let service: EmbeddingServer;
  beforeEach(async () => void (service = await startEmbeddingServer()));
  afterEach(() => service.close());

  /** A server that has stored a passage with its vector, which is found by meaning only. */
  async function withPassage(use: (server: TestServer) => Promise<void>, dimension?: number): Promise<void> {
    const embedding = {
      ...{ provider, model: 'test-model', baseUrl: service.baseUrl, apiKey: KEY, maxRetries: 1 },
      ...(dimension === undefined ? {} : { dimension }),
    };
    const tools = { knowledge: { enabled: true }, search: { enabled: true } };
    const prices = { 'test-model': { input: 0.02, output: 0 } };
    await withServer({ settings: { server: { port: 0 }, tools, embedding, prices } }, async (server) => {
      await sendText(server, 'save knowledge fleet: each vehicle is inspected in May');
      await until(() => isFound(server));
      await use(server);
      expect(server.log.lines.join('\n')).not.toContain(KEY);
    });
  }

  async function isFound(server: TestServer): Promise<boolean> {
    return /1\. fleet/.test((await sendText(server, QUESTION)).end.text);
  }

  async function answerAfter(answer: Instead, times = 1): Promise<string> {
    let text = '';
    await withPassage(async (server) => {
      service.instead(answer, times);
      const asked = await sendText(server, QUESTION);
      ({ text } = asked.end);
      expect(JSON.stringify(asked.events)).not.toContain(KEY);
    });
    return text;
  }

  it('are requested in the form of the service', async () => {
    await withPassage(async () => {
      const inputOf = ({ body }: (typeof service.requests)[number]) => JSON.stringify(body['input']);
      const document = service.requests.find((request) => inputOf(request).includes('vehicle'));
      const question = service.requests.at(-1)!;
      expect(document!.path).toBe('/v1/embeddings');
      expect(document!.headers).toMatchObject({ authorization: `Bearer ${KEY}` });
      const own =
        provider === 'voyage'
          ? { truncation: true, output_dimension: 512 }
          : { encoding_format: 'float', dimensions: 512 };
      const purpose = (name: string) => (provider === 'voyage' ? { input_type: name } : {});
      expect(document!.body).toEqual({
        model: 'test-model',
        input: ['fleet\n\neach vehicle is inspected in May'],
        ...own,
        ...purpose('document'),
      });
      expect(question.body).toEqual({
        model: 'test-model',
        input: ['automobile'],
        ...own,
        ...purpose('query'),
      });
    }, 512);
  });

  it('add the tokens that the service reports to the bill of the owner', async () => {
    await withPassage(async (server) => {
      const bill = (await (await server.fetch('/lango/bill')).json()) as { rows: { agent: string }[] };
      const calls = service.requests.length;
      expect(bill.rows.filter(({ agent }) => agent === 'embedding')).toMatchObject([
        { model: `${provider}/test-model`, input: calls * 1_000_000, output: 0, cost: calls * 0.02 },
      ]);
    });
  });

  it('are requested again after the pause that an overloaded service asks for', async () => {
    await withPassage(async (server) => {
      service.instead({ status: 429, headers: { 'retry-after': '1' } }, 1);
      const before = service.requests.length;
      expect(await isFound(server)).toBe(true);
      expect(server.log.lines.join('\n')).toContain('"delayMs":1000');
      expect(service.requests.length - before).toBe(2);
    });
  });

  it.each<readonly [string, Refusal]>([
    [
      'a pause of an hour',
      { status: 429, headers: { 'retry-after': '3600' }, says: /right now \(HTTP 429\)/ },
    ],
    ['overload twice', { status: 503, body: 'later', times: 2, says: /\(HTTP 503\)\. It says: later/ }],
    ['a refusal', { status: 401, body: `wrong key ${KEY}`, says: /refuses the key .*\(HTTP 401\)/ }],
    ['a complaint', { status: 400, body: `no model for ${KEY}`, says: /HTTP 400.*no model for \[API key\]/ }],
    ['no JSON', { status: 200, body: '<html>', says: /did not respond with a vector for each text/ }],
    ['too few', { status: 200, body: '{"data":[]}', says: /a vector for each text/ }],
    [
      'two for one',
      { ...answerOf([smallEmbedding('a'), smallEmbedding('b')]), says: /a vector for each text/ },
    ],
    [
      'no direction',
      {
        ...answerOf([new Array<number>(512).fill(0)]),
        says: /invalid vectors or vectors of different dimensions/,
      },
    ],
    ['another dimension', { ...answerOf([[1, 2, 3]]), says: /have 512 numbers, and these have 3/ }],
  ])(
    'are replaced by a search by words, with the reason, after %s',
    async (_what, { says, times, ...answer }) => {
      const text = await answerAfter(answer, times);
      expect(text).toMatch(says);
      expect(text).toMatch(/^Nothing was found[\s\S]*Searched by words only/);
    },
  );
});

interface Refusal extends Instead {
  readonly times?: number;
  /** The text that the user gets about it. */
  readonly says: RegExp;
}

function answerOf(vectors: readonly (readonly number[])[]): Instead {
  const data = vectors.map((embedding, index) => ({ object: 'embedding', index, embedding }));
  return { status: 200, body: JSON.stringify({ object: 'list', data }) };
}
