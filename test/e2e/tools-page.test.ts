import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { describeOnChain, RICH, startChain, type LocalChain } from '../chain/local-chain.js';
import { openPaidEndpoint, type PaidEndpoint } from '../chain/paid-endpoint.js';
import { readToolsPage, type PageRow } from '../docs/tools-page.js';
import { decide, sendText, startServer, type Outcome, type TestServer } from '../support/server.js';
import { findIn, findInFolder } from '../support/secret-search.js';
import { describeBrowsing, openSite, type Site } from '../capabilities/browser/setup.js';

/** Every sentence of docs/internals/tools.md, in its order, sent over A2A to a real server with the offline model. */

const PAYEE = RICH[2];
const rows = readToolsPage();
const families = (...prefixes: readonly string[]): readonly PageRow[] =>
  rows.filter(({ tool }) => prefixes.some((prefix) => tool.startsWith(prefix)));

/** Values for the placeholders of the page: read from earlier results, or set by the test. */
const words = new Map<string, string>();
const LEARNED: Readonly<Record<string, RegExp>> = {
  SIGNATURE: /signature: (\S+)/,
  CIPHERTEXT: /ciphertext: (\S+)/,
  REF: /\b(p\d+e\d+)\b/,
};

/** Sends the row's sentence, approves a question, and returns the result of the tool. */
async function act(server: TestServer, { tool, sentence, context }: PageRow): Promise<Outcome> {
  const request = sentence.replace(/\b[A-Z]{2,}(?:_[A-Z]+)*\b/g, (word) => words.get(word) ?? word);
  const sending = context === undefined ? {} : { contextId: context };
  const asked = await sendText(server, request, sending);
  const outcome =
    asked.end.questions.length > 0 ? await decide(server, asked, { decision: 'approve' }) : asked;
  const results = outcome.events.flatMap((event) =>
    event.type === 'activity' && event.activity.type === 'tool-result' ? [event.activity] : [],
  );
  expect({ request, state: outcome.end.state, results }).toMatchObject({
    state: 'completed',
    results: [{ tool, isError: false }],
  });
  for (const [word, pattern] of Object.entries(LEARNED)) {
    const [, value] = pattern.exec(outcome.end.text) ?? [];
    if (value !== undefined) words.set(word, value);
  }
  return outcome;
}

describe('the sentence about secrets and keys', () => {
  let server: TestServer;
  beforeAll(async () => {
    const tools = { secrets: { enabled: true }, crypto: { enabled: true } };
    server = await startServer({ settings: { server: { port: 0 }, tools } });
  });
  afterAll(() => server.stop());

  it.each(families('secrets_', 'crypto_'))(
    'works as the page says: $tool: $sentence',
    async (row) => void (await act(server, row)),
  );

  it('is refused without a question when it deletes a missing secret or key', async () => {
    const { end } = await sendText(server, 'delete the secret nobody-knows');
    expect(end).toMatchObject({ state: 'completed', questions: [] });
    expect(end.text).toContain('no secret "nobody-knows"');
  });
});

describeOnChain('the sentence about payments', () => {
  let chain: LocalChain;
  let endpoint: PaidEndpoint;
  let server: TestServer;
  beforeAll(async () => {
    chain = await startChain();
    endpoint = await openPaidEndpoint(chain);
    words.set('PAYEE', PAYEE).set('PAID_URL', `${endpoint.url}/paid`);
    const payment = {
      ...{ enabled: true, rpcUrl: chain.url, tokenAddress: chain.token, confirmations: 1 },
      x402: { allowHosts: ['127.0.0.1'] },
    };
    server = await startServer({
      settings: { server: { port: 0 }, payment, egress: { allowPrivate: ['127.0.0.1'] } },
    });
  });
  afterAll(async () => {
    await server.stop();
    await endpoint.close();
    await chain.stop();
  });

  it.each(families('payment_'))('works as the page says: $tool: $sentence', async (row) => {
    const { end } = await act(server, row);
    if (row.tool !== 'payment_create_wallet') return;
    await chain.fund(/0x[0-9a-fA-F]{40}/.exec(end.text)![0], 3_000_000n);
  });
});

describeOnChain('a secret in the header of a request', () => {
  it('is sent to the host that its owner permits, and nowhere else', async () => {
    const chain = await startChain();
    const seen: unknown[] = [];
    const site = await openSite({
      '/': ({ headers }, response) => {
        seen.push(headers['x-api-key']);
        response.end(`you said ${String(headers['x-api-key'])}`);
      },
    });
    const settings = {
      server: { port: 0 },
      payment: {
        enabled: true,
        rpcUrl: chain.url,
        tokenAddress: chain.token,
        x402: { allowHosts: ['127.0.0.1'] },
      },
      egress: { allowPrivate: ['127.0.0.1'] },
      tools: { secrets: { enabled: true } },
    };
    const server = await startServer({ settings });
    try {
      const value = 'key-of-the-api-42';
      const put = (hosts: readonly string[]) =>
        server.fetch('/lango/secrets/api', {
          method: 'PUT',
          body: JSON.stringify({ value, places: ['http'], hosts, replace: true }),
        });
      const request = `fetch ${site.origin}/ for at most 0.05 USDC with the secret api as the header X-Api-Key`;
      await put(['api.example.com']);
      const refused = await sendText(server, request);
      expect(refused.end.text).toContain('may not be used for 127.0.0.1 (http)');
      expect(seen).toEqual([]);
      await put(['127.0.0.1']);
      const sent = await sendText(server, request);
      expect(seen).toEqual([value]);
      expect(sent.end.text).toContain('you said {{secret:api}}');
      const told = JSON.stringify([refused.events, sent.events]) + server.log.lines.join();
      expect([...findIn('events and log', told, value), ...findInFolder(server.home, value)]).toEqual([]);
    } finally {
      await server.stop();
      await site.close();
      await chain.stop();
    }
  });
});

describeBrowsing('the sentence about the web', () => {
  let site: Site;
  let server: TestServer;
  beforeAll(async () => {
    site = await openSite({
      '/': '<title>Shop</title><h1>Oranges</h1><button>Buy</button>',
      '/search': '<title>Found</title><a href="https://example.com/oranges">All about oranges</a>',
    });
    words.set('URL', `${site.origin}/`);
    const browser = { enabled: true, allowHosts: [site.host], searchUrl: `${site.origin}/search?q={query}` };
    server = await startServer({ settings: { server: { port: 0 }, tools: { browser } } });
  });
  afterAll(async () => {
    await server.stop();
    await site.close();
  });

  it.each(families('browser_'))(
    'works as the page says: $tool: $sentence',
    async (row) => void (await act(server, row)),
  );
});
