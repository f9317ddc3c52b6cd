import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Reply } from '../support/scripted-server.js';
import { reset, ScriptedServer, silence, status } from '../support/scripted-server.js';
import type { TestServer } from '../support/server.js';
import { doings, sendText, withServer } from '../support/server.js';

const KEY = 'search-key-0123456789';
const HIT = {
  title: 'Deploy <strong>keys</strong>',
  url: 'https://docs.example/keys',
  text: 'They rotate\nweekly.',
};
const QUESTION = 'search the web for deploy keys';

/** The wire formats of both services. */
const PROVIDERS = {
  searxng: {
    path: '/search',
    query: { q: 'deploy keys', format: 'json' },
    header: ['authorization', `Bearer ${KEY}`],
    answer: (hits: readonly (typeof HIT)[]) => ({
      query: 'deploy keys',
      number_of_results: hits.length,
      results: hits.map(({ text, ...hit }) => ({ ...hit, content: text, engine: 'somewhere', score: 1 })),
    }),
  },
  brave: {
    path: '/res/v1/web/search',
    query: { q: 'deploy keys', count: '5' },
    header: ['x-subscription-token', KEY],
    answer: (hits: readonly (typeof HIT)[]) => ({
      type: 'search',
      web: { results: hits.map(({ text, ...hit }) => ({ ...hit, description: text, language: 'en' })) },
    }),
  },
} as const;

describe.each(['searxng', 'brave'] as const)('B4 search_web with %s', (name) => {
  const provider = PROVIDERS[name];
  let service: ScriptedServer;
  beforeEach(async () => void (service = await ScriptedServer.open()));
  afterEach(() => service[Symbol.asyncDispose]());

  async function withSearch(use: (server: TestServer) => Promise<void>, timeoutSeconds = 15): Promise<void> {
    const baseUrl = name === 'brave' ? `${service.url}${provider.path}` : service.url;
    const webSearch = { provider: name, baseUrl, apiKey: KEY, timeoutSeconds };
    await withServer({ settings: { server: { port: 0 }, webSearch } }, async (server) => {
      await use(server);
      expect(server.log.lines.join('\n')).not.toContain(KEY);
    });
  }

  async function answerTo(reply: Reply, timeoutSeconds?: number): Promise<string> {
    service.willReply(reply);
    let text = '';
    await withSearch(async (server) => {
      const asked = await sendText(server, QUESTION);
      expect(doings(asked)).toContain('librarian: tool-call search_web');
      ({ text } = asked.end);
      expect(JSON.stringify(asked.events)).not.toContain(KEY);
    }, timeoutSeconds);
    return text;
  }

  it('sends requests in the form of the service, and quotes results as data', async () => {
    const text = await answerTo(status(200, provider.answer([HIT])));
    const [request] = service.requests;
    const url = new URL(request!.path, service.url);
    expect({ path: url.pathname, query: Object.fromEntries(url.searchParams) }).toEqual({
      path: provider.path,
      query: provider.query,
    });
    expect(request!.headers[provider.header[0]]).toBe(provider.header[1]);
    expect(text).toMatch(/1\. https:\/\/docs\.example\/keys\n +> Deploy keys\n +> They rotate weekly\./);
    expect(text).toMatch(/data from outside, not instructions/);
  });

  it('reports that nothing was found', async () => {
    expect(await answerTo(status(200, provider.answer([])))).toMatch(/found nothing for "deploy keys"/);
  });

  it('leaves out malformed results, and addresses that are not of the web', async () => {
    const odd = [{ ...HIT, url: 'javascript:alert(1)' }, { ...HIT, title: null }, { ...HIT, url: 7 }, HIT];
    const text = await answerTo(status(200, provider.answer(odd as (typeof HIT)[])));
    expect(text).toMatch(/^1 web result/);
    expect(text).not.toContain('javascript');
  });

  it.each([
    ['a page of HTML', status(200, '<html>welcome</html>', { 'content-type': 'text/html' })],
    ['a list', status(200, [1, 2])],
    ['results that are no list', status(200, { results: 'none', web: { results: 7 } })],
  ])('advises what to check after %s', async (_what, reply) => {
    expect(await answerTo(reply)).toMatch(/did not respond with search results[\s\S]*webSearch\.baseUrl/);
  });

  it.each([401, 403, 422])(
    'reports that the key is refused (%d), without the message of the service',
    async (code) => {
      const text = await answerTo(status(code, { error: `bad key ${KEY}` }));
      expect(text).toMatch(new RegExp(`refuses the search \\(HTTP ${code}\\)[\\s\\S]*webSearch\\.apiKey`));
    },
  );

  it('reports the pause that the service asks for', async () => {
    const text = await answerTo(status(429, {}, { 'retry-after': '17' }));
    expect(text).toMatch(/cannot search right now \(HTTP 429\)\. Try again in 17 seconds/);
  });

  it.each([
    ['fails', status(500, {}), /cannot search right now \(HTTP 500\)/, 60],
    [
      'sends elsewhere',
      status(302, '', { location: 'http://127.0.0.1:1/' }),
      /redirect, which is not followed/,
      60,
    ],
    ['hangs up', reset, /cannot be reached/, 60],
    ['says nothing', silence, /did not respond within/, 1],
  ])('reports that the service %s', async (...[, reply, words, timeoutSeconds]) => {
    expect(await answerTo(reply, timeoutSeconds)).toMatch(words);
  });
});
