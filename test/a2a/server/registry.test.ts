import { afterEach, describe, expect, it } from '@jest/globals';
import type { A2aNode } from '../../support/a2a-node.js';
import { startA2aNode } from '../../support/a2a-node.js';
import { ask } from '../../support/a2a-requests.js';
import { scriptedAgent } from '../../support/scripted-agent.js';
import { withServer } from '../../support/server.js';

/** The registry of ARD 0.91: it lists the published agents, and to callers the remote agents too. */

const AGENTS = [scriptedAgent('lango-orchestrator'), scriptedAgent('operator'), scriptedAgent('vault')];
const CARD = 'application/a2a-agent-card+json';

let node: A2aNode | undefined;
afterEach(async () => {
  await node?.stop();
  node = undefined;
});

const start = async (baseUrl?: string): Promise<void> => {
  node = await startA2aNode({ agents: AGENTS, ...(baseUrl === undefined ? {} : { baseUrl }) });
};
const search = (query: unknown, more: object = {}) =>
  ask(node!, '/ard/search', { token: null, body: { query, ...more } });
const at = (path: string) => ask(node!, `/ard${path}`, { token: null });
const filtered = (filter: string) => at(`/agents?filter=${encodeURIComponent(filter)}`);
const names = (reply: { readonly json: unknown }): readonly string[] => {
  const { results = [], items = [] } = reply.json as Record<string, { displayName: string }[]>;
  return [...results, ...items].map(({ displayName }) => displayName);
};

describe('POST /search', () => {
  it('finds agents by words, the best first, with entries as in the catalog', async () => {
    await start('https://agents.example/x');
    const found = await search({ text: 'the operator, please' });
    expect(found.status).toBe(200);
    const { results } = found.json as unknown as { results: object[] };
    expect(results[0]).toMatchObject({
      identifier: 'urn:air:agents.example:agent:operator',
      score: 33,
      source: 'https://agents.example/x/ard',
    });
    expect(names(await search({ text: 'qqqq' }))).toEqual([]);
    expect(names(await search({ text: 'vault', filter: { type: [CARD, 'other'] } }))).toContain('vault');
    expect(names(await search({ text: 'vault', filter: { type: 'other' } }))).toEqual([]);
    expect(names(await search({ text: 'vault', filter: { publisher: 'agents.example' } }))).toContain(
      'vault',
    );
    expect(names(await search({ text: 'vault', filter: { publisher: 'other.example' } }))).toEqual([]);
    expect(names(await search({ text: 'vault', filter: { '__proto__.x': 'other' } }))).toEqual([]);
    const context = { '@context': { x: 'https://x.example/ns#' }, text: 'vault' };
    expect(names(await search(context))).toContain('vault');
  });

  it.each([
    ['no query', undefined],
    ['a query without text', {}],
    ['an empty text', { text: ' ' }],
    ['a text of 3 KB', { text: 'x'.repeat(3_000) }],
    ['an unknown member', { text: 'x', limit: 1 }],
    ['a filter that is a list', { text: 'x', filter: ['a'] }],
    ['a filter with an object', { text: 'x', filter: { type: { not: 'x' } } }],
  ])('refuses %s in the form of the specification', async (_, query) => {
    await start();
    const refused = await search(query);
    expect([refused.status, refused.json]).toEqual([
      400,
      { errorCode: 'INVALID_ARGUMENT', message: expect.any(String) },
    ]);
    expect((await search({ text: 'x' }, { federation: 'all' })).status).toBe(400);
  });
});

describe('GET /agents', () => {
  it('lists in pages and orders', async () => {
    await start();
    const first = await at('/agents?pageSize=2&orderBy=displayName%20DESC');
    expect([names(first), first.json]).toMatchObject([['vault', 'operator'], { total: 3, pageToken: '2' }]);
    expect(names(await at('/agents?pageSize=2&orderBy=name%20DESC&pageToken=2'))).toEqual([
      'lango-orchestrator',
    ]);
    for (const query of [
      '?pageSize=x',
      '?pageSize=101',
      '?pageToken=-1',
      '?orderBy=url',
      '?orderBy=toString',
    ])
      expect([query, (await at(`/agents${query}`)).status]).toEqual([query, 400]);
  });

  it.each([
    ["displayName = 'VAU'", ['vault']],
    [`type = '${CARD}'`, ['lango-orchestrator', 'operator', 'vault']],
    [`type = ${CARD} AND displayName="oper"`, ['operator']],
    ["type = 'other, application/a2a-agent-card+json' AND displayName = 'vault'", ['vault']],
    ["type = 'application/mcp-server-card+json' AND createdAfter > '2026-01-01'", []],
    ["publisherId = 'x.example,Agents.Example' AND displayName = 'vault'", ['vault']],
    ["publisherId = 'x.example'", []],
    ["updatedAfter > '2026-01-01' AND displayName = 'vault'", ['vault']],
    ["updatedAfter = '2999-01-01T00:00:00Z'", []],
    ['  ', ['lango-orchestrator', 'operator', 'vault']],
  ])('filters by %s', async (filter, wanted) => {
    await start('https://agents.example');
    const list = await filtered(filter);
    expect([list.status, names(list), list.json]).toMatchObject([200, wanted, { total: wanted.length }]);
  });

  it.each([
    'a',
    "type == 'x'",
    "type = 'x' OR type = 'y'",
    "type = 'x' AND",
    "type = 'x' displayName = 'y'",
    "type > 'x'",
    "toString = 'x'",
    "__proto__ = 'x'",
    "updatedAfter > 'yesterday'",
    "updatedAfter > '2026-99-99'",
    "type = 'x",
    `type = '${'x'.repeat(3_000)}'`,
    "type = 'x' AND ".repeat(130),
  ])('refuses the filter %p', async (filter) => {
    await start();
    const refused = await filtered(filter);
    expect([refused.status, refused.json]).toEqual([
      400,
      { errorCode: 'INVALID_ARGUMENT', message: expect.stringMatching(/^filter must /) },
    ]);
  });
});

describe('GET /agents/IDENTIFIER', () => {
  const urn = (name: string): string => encodeURIComponent(`urn:air:agent.localhost:agent:${name}`);

  it('responds with the whole entry as the list has it, and with validators', async () => {
    await start();
    const { items } = (await at('/agents?orderBy=displayName')).json as unknown as { items: object[] };
    const found = await at(`/agents/${urn('operator')}`);
    expect([found.status, found.json]).toEqual([200, items[1]]);
    expect(found.headers.get('cache-control')).toBe('public, max-age=60');
    const headers = { 'If-None-Match': found.headers.get('etag')! };
    expect((await ask(node!, `/ard/agents/${urn('operator')}`, { token: null, headers })).status).toBe(304);
  });

  it('responds with 404 to an unknown identifier, and with 400 to a text that is no identifier', async () => {
    await start();
    const unknown = await at(`/agents/${urn('nobody')}`);
    expect([unknown.status, unknown.json]).toMatchObject([404, { errorCode: 'NOT_FOUND' }]);
    for (const text of [
      'operator',
      '%zz',
      '%ff',
      'urn%253Aair%253Aa.b%253Ac',
      'urn:air:x',
      '',
      'urn:air:a.b:/c',
    ]) {
      const { status, json } = await at(`/agents/${text}`);
      expect([text, status, json]).toMatchObject([text, 400, { errorCode: 'INVALID_ARGUMENT' }]);
    }
  });

  it('responds to the operations of the specification that it lacks with an error', async () => {
    await start();
    const explore = await ask(node!, '/ard/explore', { token: null, body: {} });
    expect([explore.status, explore.json]).toMatchObject([501, { errorCode: 'UNIMPLEMENTED' }]);
    expect((await at('/search')).status).toBe(404);
    expect((await at('/agentsx')).status).toBe(404);
  });
});

it('the registry lists remote agents in use to callers alone, under the domain of their card', async () => {
  await withServer({}, async ({ address: away }) => {
    const url = `${away.origin}/agents/planner/.well-known/agent-card.json?code=of-the-gateway`;
    const remoteAgents = [
      { name: 'far-planner', url, allowPrivate: true },
      { name: 'gone', url: 'http://127.0.0.1:9/', allowPrivate: true },
    ];
    const settings = { server: { port: 0 }, a2a: { enabled: true, remoteAgents } };
    await withServer({ settings }, async ({ address, log }) => {
      await log.saying('"agent joined","agent":"far-planner"');
      const list = async (token?: string) => {
        const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
        const response = await fetch(`${address.origin}/ard/agents`, { headers });
        return { status: response.status, json: await response.json() };
      };
      expect(names(await list())).not.toContain('far-planner');
      expect((await list('wrong')).status).toBe(401);
      const known = names(await list(address.token));
      expect(known).toEqual(expect.arrayContaining(['far-planner', 'planner']));
      expect(known).not.toContain('gone');
      const { items } = (await list(address.token)).json as { items: Record<string, unknown>[] };
      const entry = items.find(({ displayName }) => displayName === 'far-planner');
      expect(entry).toMatchObject({
        identifier: 'urn:air:agent.localhost:agent:far-planner',
        url: `${away.origin}/agents/planner/.well-known/agent-card.json`,
      });
      const body = JSON.stringify({ query: { text: 'far-planner' } });
      const headers = { authorization: `Bearer ${address.token}`, 'content-type': 'application/json' };
      const found = await fetch(`${address.origin}/ard/search`, { method: 'POST', headers, body });
      expect(names({ json: await found.json() })).toContain('far-planner');
      const catalog = await (await fetch(`${address.origin}/.well-known/ard.json`, { headers })).text();
      expect(catalog).not.toContain('far-planner');
    });
  });
});
