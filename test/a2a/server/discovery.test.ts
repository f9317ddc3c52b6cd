import { afterEach, describe, expect, it } from '@jest/globals';
import { AgentCard } from '@a2a-js/sdk';
import type { A2aNode } from '../../support/a2a-node.js';
import { startA2aNode } from '../../support/a2a-node.js';
import { ask } from '../../support/a2a-requests.js';
import { scriptedAgent } from '../../support/scripted-agent.js';

let node: A2aNode;

afterEach(() => node.stop());

const AGENTS = [scriptedAgent('lango-orchestrator'), scriptedAgent('operator'), scriptedAgent('vault')];

interface ServedCard {
  readonly name: string;
  readonly supportedInterfaces: readonly { readonly url: string; readonly protocolBinding: string }[];
  readonly [member: string]: unknown;
}

async function cardAt(path: string, headers: Readonly<Record<string, string>> = {}) {
  const reply = await ask(node, path, { token: null, headers });
  return { reply, card: reply.json as unknown as ServedCard };
}

describe('X1 every agent has its own card and endpoint', () => {
  it('at its own path, without a caller', async () => {
    node = await startA2aNode({ agents: AGENTS });
    for (const { profile } of AGENTS) {
      const { reply, card } = await cardAt(`/agents/${profile.name}/.well-known/agent-card.json`);
      expect(reply.status).toBe(200);
      expect(card.name).toBe(profile.name);
      const url = `${node.origin}/agents/${profile.name}`;
      expect(card.supportedInterfaces).toEqual([
        { url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
        { url, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
        { url, protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
        { url, protocolBinding: 'HTTP+JSON', protocolVersion: '0.3' },
      ]);
    }
  });

  it('and the root agent at the root of the host', async () => {
    node = await startA2aNode({ agents: AGENTS });
    const { reply } = await cardAt('/.well-known/agent-card.json');
    expect(reply.text).toBe(
      (await cardAt('/agents/lango-orchestrator/.well-known/agent-card.json')).reply.text,
    );
  });

  it('in the shape of the protocol, not of the SDK, with every required field', async () => {
    node = await startA2aNode({ agents: AGENTS });
    const { card } = await cardAt('/.well-known/agent-card.json');
    expect(card).toMatchObject({
      version: '1.2.3',
      capabilities: { streaming: true, pushNotifications: false },
      securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
      // Those of 1.0 are in the card that is asked for by its version.
      security: [{ bearer: [] }],
      defaultInputModes: ['text/plain', 'application/json'],
      defaultOutputModes: ['text/plain', 'application/json'],
      skills: [{ id: 'orders', tags: ['test'], examples: ['say {text}'] }],
    });
    expect(AgentCard.fromJSON(card).securitySchemes['bearer']?.scheme?.$case).toBe('httpAuthSecurityScheme');
  });

  it('declaring no security when none is enforced', async () => {
    node = await startA2aNode({ agents: AGENTS, auth: 'none' });
    const { card } = await cardAt('/.well-known/agent-card.json');
    expect(card).not.toHaveProperty('securitySchemes');
    expect(card).not.toHaveProperty('securityRequirements');
    expect((await ask(node, '/tasks', { token: null })).status).toBe(200);
  });

  it('under the configured address when there is one', async () => {
    node = await startA2aNode({ agents: AGENTS, baseUrl: 'https://agents.example/' });
    const { card } = await cardAt('/.well-known/agent-card.json');
    expect(card.supportedInterfaces[0]?.url).toBe('https://agents.example/agents/lango-orchestrator');
  });
});

describe('X1 cards are cached by what they hold', () => {
  it('with a tag that stays and answers 304', async () => {
    node = await startA2aNode({ agents: AGENTS });
    const first = (await cardAt('/.well-known/agent-card.json')).reply;
    const tag = first.headers.get('etag')!;
    expect(first.headers.get('cache-control')).toMatch(/max-age=\d+/);
    expect((await cardAt('/.well-known/agent-card.json')).reply.headers.get('etag')).toBe(tag);
    for (const held of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
      const again = (await cardAt('/.well-known/agent-card.json', { 'If-None-Match': held })).reply;
      expect([again.status, again.text, again.headers.get('etag')]).toEqual([304, '', tag]);
    }
    const other = (await cardAt('/.well-known/agent-card.json', { 'If-None-Match': '"other"' })).reply;
    expect(other.status).toBe(200);
    expect((await cardAt('/agents/vault/.well-known/agent-card.json')).reply.headers.get('etag')).not.toBe(
      tag,
    );
  });

  it('and answer HEAD like GET without the body, and nothing else', async () => {
    node = await startA2aNode({ agents: AGENTS });
    const path = '/.well-known/agent-card.json';
    const head = await ask(node, path, { method: 'HEAD', token: null });
    const get = await ask(node, path, { token: null });
    expect([head.status, head.text]).toEqual([200, '']);
    expect(head.headers.get('content-length')).toBe(String(Buffer.byteLength(get.text)));
    expect((await ask(node, path, { method: 'POST', token: null })).status).toBe(405);
  });
});

describe('X1 the catalog', () => {
  it('lists every card of the node, and each is where it says', async () => {
    node = await startA2aNode({ agents: AGENTS });
    const reply = await ask(node, '/.well-known/ai-catalog.json', { token: null });
    expect(reply.headers.get('content-type')).toBe('application/ai-catalog+json');
    const catalog = reply.json as unknown as {
      readonly specVersion: string;
      readonly entries: readonly Readonly<Record<string, string>>[];
    };
    expect(catalog).toMatchObject({ specVersion: '1.0', host: { identifier: 'agent.localhost' } });
    expect(catalog.entries[1]!['identifier']).toBe('urn:air:agent.localhost:operator:a2a');
    expect(catalog.entries.map((entry) => entry['displayName'])).toEqual([
      'lango-orchestrator',
      'operator',
      'vault',
    ]);
    for (const entry of catalog.entries) {
      expect(entry['type']).toBe('application/a2a-agent-card+json');
      const card = (await (await fetch(entry['url']!)).json()) as ServedCard;
      expect(card.name).toBe(entry['displayName']);
    }
  });
});

describe('the registry of agents', () => {
  const search = async (query: unknown, more: object = {}) =>
    ask(node, '/ard/search', { token: null, body: { query, ...more } });
  const names = (reply: { readonly json: unknown }): readonly string[] => {
    const { results = [], items = [] } = reply.json as Record<string, { displayName: string }[]>;
    return [...results, ...items].map(({ displayName }) => displayName);
  };

  it('finds agents by words, best first, with entries as in the catalog', async () => {
    node = await startA2aNode({ agents: AGENTS, baseUrl: 'https://agents.example/x' });
    const found = await search({ text: 'the operator, please' });
    expect(found.status).toBe(200);
    const { results } = found.json as unknown as { results: object[] };
    expect(results[0]).toMatchObject({
      identifier: 'urn:air:agents.example:operator:a2a',
      score: 33,
      source: 'https://agents.example/x/ard/search',
    });
    expect(names(await search({ text: 'qqqq' }))).toEqual([]);
    const type = 'application/a2a-agent-card+json';
    expect(names(await search({ text: 'vault', filter: { type: [type, 'other'] } }))).toContain('vault');
    expect(names(await search({ text: 'vault', filter: { type: 'other' } }))).toEqual([]);
    expect(names(await search({ text: 'vault', filter: { '__proto__.x': 'other' } }))).toEqual([]);
  });

  it('lists them in pages', async () => {
    node = await startA2aNode({ agents: AGENTS });
    const at = (query: string) => ask(node, `/ard/agents${query}`, { token: null });
    const first = await at('?pageSize=2&orderBy=displayName%20DESC');
    expect([names(first), first.json]).toMatchObject([['vault', 'operator'], { total: 3, pageToken: '2' }]);
    expect(names(await at('?pageSize=2&orderBy=displayName%20DESC&pageToken=2'))).toEqual([
      'lango-orchestrator',
    ]);
    for (const query of ['?pageSize=x', '?pageSize=101', '?pageToken=-1', '?orderBy=url', '?filter=a'])
      expect([query, (await at(query)).status]).toEqual([query, 400]);
  });

  it.each([
    ['no query', undefined],
    ['a query without text', {}],
    ['an empty text', { text: ' ' }],
    ['a text of 3 KB', { text: 'x'.repeat(3_000) }],
    ['an unknown member', { text: 'x', limit: 1 }],
    ['a filter that is a list', { text: 'x', filter: ['a'] }],
    ['a filter with an object', { text: 'x', filter: { type: { not: 'x' } } }],
  ])('refuses %s', async (_, query) => {
    node = await startA2aNode({ agents: AGENTS });
    expect((await search(query)).status).toBe(400);
    expect((await search({ text: 'x' }, { federation: 'all' })).status).toBe(400);
  });
});
