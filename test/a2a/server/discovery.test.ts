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

describe('X1 the card of an agent', () => {
  it('is served at the path of the agent, without a token', async () => {
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

  it("is also served at the root of the host when it is the root agent's", async () => {
    node = await startA2aNode({ agents: AGENTS });
    const { reply } = await cardAt('/.well-known/agent-card.json');
    expect(reply.text).toBe(
      (await cardAt('/agents/lango-orchestrator/.well-known/agent-card.json')).reply.text,
    );
  });

  it('is in the shape of the protocol, not of the SDK, with every required field', async () => {
    node = await startA2aNode({ agents: AGENTS });
    const { card } = await cardAt('/.well-known/agent-card.json');
    expect(card).toMatchObject({
      version: '1.2.3',
      capabilities: { streaming: true, pushNotifications: false },
      securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
      // The security requirements of 1.0 are on the card for clients that ask for 1.0 by its version.
      security: [{ bearer: [] }],
      defaultInputModes: ['text/plain', 'application/json'],
      defaultOutputModes: ['text/plain', 'application/json'],
      skills: [{ id: 'orders', tags: ['test'], examples: ['say {text}'] }],
    });
    expect(AgentCard.fromJSON(card).securitySchemes['bearer']?.scheme?.$case).toBe('httpAuthSecurityScheme');
  });

  it('declares no security when none is enforced', async () => {
    node = await startA2aNode({ agents: AGENTS, auth: 'none' });
    const { card } = await cardAt('/.well-known/agent-card.json');
    expect(card).not.toHaveProperty('securitySchemes');
    expect(card).not.toHaveProperty('securityRequirements');
    expect((await ask(node, '/tasks', { token: null })).status).toBe(200);
  });

  it('names the configured address of the server when there is one', async () => {
    node = await startA2aNode({ agents: AGENTS, baseUrl: 'https://agents.example/' });
    const { card } = await cardAt('/.well-known/agent-card.json');
    expect(card.supportedInterfaces[0]?.url).toBe('https://agents.example/agents/lango-orchestrator');
  });
});

describe('X1 the cache headers of a card', () => {
  it('hold a stable ETag, which gets 304', async () => {
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

  it('are the same for HEAD, which gets no body; other methods get 405', async () => {
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
  interface Catalog {
    readonly specVersion: string;
    readonly entries: readonly Readonly<Record<string, string>>[];
  }

  it('lists every card of the node at its real address', async () => {
    node = await startA2aNode({ agents: AGENTS });
    const reply = await ask(node, '/.well-known/ai-catalog.json', { token: null });
    expect(reply.headers.get('content-type')).toBe('application/ai-catalog+json');
    const catalog = reply.json as unknown as Catalog;
    expect(catalog).toMatchObject({ specVersion: '1.0', host: { identifier: 'agent.localhost' } });
    expect(catalog.entries[1]!['identifier']).toBe('urn:air:agent.localhost:agent:operator');
    const cards = catalog.entries.filter((entry) => entry['type'] === 'application/a2a-agent-card+json');
    expect(cards.map((entry) => entry['displayName'])).toEqual(['lango-orchestrator', 'operator', 'vault']);
    for (const entry of cards) {
      const card = (await (await fetch(entry['url']!)).json()) as ServedCard;
      expect(card.name).toBe(entry['displayName']);
    }
  });

  it('names the registry, is also served at the path of ARD, and is linked from every card', async () => {
    node = await startA2aNode({ agents: AGENTS });
    const old = await ask(node, '/.well-known/ai-catalog.json', { token: null });
    const current = await ask(node, '/.well-known/ard.json', { token: null });
    expect([current.headers.get('content-type'), current.text]).toEqual(['application/json', old.text]);
    const { entries } = current.json as unknown as Catalog;
    const registry = entries.find((entry) => entry['type'] === 'application/ai-registry+json');
    expect(registry).toMatchObject({ url: `${node.origin}/ard` });
    expect((await fetch(`${registry!['url']!}/agents`)).status).toBe(200);
    const { reply } = await cardAt('/.well-known/agent-card.json');
    expect(reply.headers.get('link')).toMatch(/ard\.json>; rel="ard".*ai-catalog\.json>; rel="ai-catalog"/);
  });
});
