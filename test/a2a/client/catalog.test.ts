import { describe, expect, it } from '@jest/globals';
import { searchCatalogs } from '../../../src/a2a/client/catalog.js';
import { isPrivate } from '../../../src/http/address-check.js';

/**
 * Catalogs as a public server may send them. Each test searches one beside an honest one, which is offered in every
 * case.
 */

const HONEST = 'https://honest.example/.well-known/ard.json';
const EVIL = 'https://catalog.example/ard.json';
const card = { type: 'application/a2a-agent-card+json' };
const planner = { ...card, displayName: 'honest planner', url: 'https://honest.example/agents/planner' };

async function search(documents: Readonly<Record<string, unknown>>, catalogs = [EVIL, HONEST]) {
  const asked: string[] = [];
  const found = await searchCatalogs({
    catalogs,
    text: 'planner',
    isPrivate: ({ hostname }) => isPrivate(hostname),
    fetchFor: () => async (input) => {
      const url = input as string;
      asked.push(url);
      const document: unknown = url === HONEST ? { entries: [planner] } : documents[url];
      return document === undefined
        ? new Response('', { status: 404 })
        : new Response(typeof document === 'string' ? document : JSON.stringify(document));
    },
  });
  return { ...found, names: found.agents.map(({ name }) => name), asked };
}

describe('a hostile catalog', () => {
  it.each([
    ['no JSON', '<html>', 'The catalog is not JSON.'],
    ['a list', [], 'The catalog is not a JSON object.'],
    ['no entries', { entries: {} }, 'The document is no catalog: it has no list of entries.'],
    ['depth', `{"entries":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 'The catalog cannot be used.'],
    ['5 MB', { entries: [], x: 'x'.repeat(5 << 20) }, 'The catalog is larger than 4194304 bytes.'],
  ])(
    'is reported with the reason when it is of the kind "%s", and the agents of other catalogs are offered',
    async (_, document, reason) => {
      const { names, failed } = await search({ [EVIL]: document });
      expect(names).toEqual(['honest planner']);
      expect(failed).toEqual([{ catalog: EVIL, reason: expect.stringContaining(reason) }]);
    },
  );

  it('is searched in part when it has 100,000 entries, and hides no other catalog', async () => {
    const entries = Array.from({ length: 100_000 }, () => ({}));
    entries.fill({ ...card, displayName: 'planner', url: 'https://a.example' }, 0, 9_000);
    const { names, failed } = await search({ [EVIL]: { entries } });
    expect(names).toHaveLength(20);
    expect(names).toContain('honest planner');
    expect(failed).toEqual([{ catalog: EVIL, reason: expect.stringContaining('100000 entries') }]);
  });

  it.each([
    'http://127.0.0.1/',
    'http://[::1]:80/',
    'http://169.254.169.254/latest',
    'https://vault.internal/',
    'http://2130706433/',
  ])('offers no agent in a private network: %s', async (url) => {
    const { names, failed } = await search({
      [EVIL]: { entries: [{ ...card, displayName: 'planner', url }] },
    });
    expect(names).toEqual(['honest planner']);
    expect(failed).toEqual([
      { catalog: EVIL, reason: '1 agent not offered: the address is in a private network.' },
    ]);
  });

  it.each([
    ['urn:air:honest.example:agent:planner', 'https://catalog.example/p', false],
    ['urn:air:HONEST.example:agent:planner', 'https://catalog.example/p', false],
    ['urn:air:honest.example:agent:planner', 'https://nothonest.example/p', false],
    ['urn:air:honest.example:agent:planner', 'https://honest.example.evil.example/p', false],
    ['urn:air:honest.example:agent:planner', 'https://api.honest.example/p', true],
    ['urn:air:catalog.example:agent:planner', 'https://elsewhere.example/p', true],
    ['urn:air:example:agent:planner', 'https://api.elsewhere.example/p', false],
    ['urn:air:agent.localhost:agent:planner', 'https://elsewhere.example/p', true],
    ['not an identifier', 'https://elsewhere.example/p', true],
  ])(
    'offers an agent only under an identifier of its own domain: %s for %s is %s',
    async (identifier, url, isOffered) => {
      const entries = [{ ...card, identifier, displayName: 'planner', url }];
      const { names, failed } = await search({ [EVIL]: { entries } });
      expect(names.includes('planner')).toBe(isOffered);
      expect(names).toContain('honest planner');
      const reason = '1 agent not offered: the identifier names a domain of others.';
      expect(failed).toEqual(isOffered ? [] : [{ catalog: EVIL, reason }]);
    },
  );

  it('leads to no other catalog, by address or inline', async () => {
    const nested = { type: 'application/ai-catalog+json', displayName: 'planner' };
    const inline = {
      ...nested,
      data: { entries: [{ ...card, displayName: 'planner', url: 'https://a.example' }] },
    };
    const entries = [{ ...nested, url: EVIL }, { ...nested, url: HONEST }, inline];
    const { names, asked } = await search({ [EVIL]: { entries } });
    expect([names, asked.sort()]).toEqual([['honest planner'], [EVIL, HONEST].sort()]);
  });

  it('has its long names and descriptions shortened', async () => {
    const entry = { ...card, displayName: `planner ${'x'.repeat(9_999)}`, description: 'y'.repeat(9_999) };
    const { agents } = await search({ [EVIL]: { entries: [{ ...entry, url: 'https://a.example' }] } });
    expect(agents.find(({ name }) => name.startsWith('planner'))).toMatchObject({
      name: expect.stringMatching(/^.{101}$/),
      description: expect.stringMatching(/^.{1001}$/),
    });
  });
});

it('a catalog in a private network offers agents in that network', async () => {
  const local = 'http://10.0.0.5/ard.json';
  const entries = [{ ...card, displayName: 'planner', url: 'http://10.0.0.6/agents/planner' }];
  expect((await search({ [local]: { entries } }, [local])).names).toEqual(['planner']);
});

it('the catalog of a server is read at the path of ARD first, then at that of AI Catalog', async () => {
  const entries = [{ ...card, displayName: 'planner', url: 'https://a.example' }];
  const [current, old] = ['ard', 'ai-catalog'].map((name) => `https://a.example/x/.well-known/${name}.json`);
  const both = await search({ [current!]: { entries }, [old!]: { entries: [] } }, ['https://a.example/x/']);
  expect([both.names, both.asked]).toEqual([['planner'], [current]]);
  const one = await search({ [old!]: { entries } }, ['https://a.example/x']);
  expect([one.names, one.asked]).toEqual([['planner'], [current, old]]);
});
