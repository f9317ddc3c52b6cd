import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { lintCard } from '../../../src/a2a/client/card-lint.js';
import { buildCard, cardJson } from '../../../src/a2a/server/card.js';
import type { CardAuth } from '../../../src/a2a/server/card.js';
import type { CardFile } from '../../../src/core/card.js';

const CARDS = new URL('../../../agent-cards/', import.meta.url);
const FILES = readdirSync(CARDS).map(
  (name) => JSON.parse(readFileSync(new URL(name, CARDS), 'utf8')) as CardFile,
);
const JWT: CardAuth = {
  flows: [],
  audience: ['lango'],
  openIdConnectUrl: 'https://issuer.example/.well-known/openid-configuration',
  scopes: ['use'],
  skillScopes: new Map([['file-operations', 'files']]),
};
const SKILL = {
  id: 'forecast',
  name: 'Forecast',
  description: 'Foretells the weather of the next ten days for a town.',
  tags: ['weather'],
  examples: ['Will it rain in Oslo tomorrow?'],
};
const GOOD = {
  name: 'Forecaster',
  description: 'Foretells the weather. Ask it before you plan something outdoors.',
  version: '1.2.0',
  supportedInterfaces: [{ url: 'https://w.example/a2a', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  capabilities: { streaming: true },
  securitySchemes: { token: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
  securityRequirements: [{ schemes: { token: { list: [] } } }],
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain; charset=utf-8', 'image/*'],
  skills: [SKILL],
};
const interfaceOf = (change: object) => ({
  supportedInterfaces: [{ ...GOOD.supportedInterfaces[0], ...change }],
});
const skillWith = (change: object) => ({ skills: [{ ...SKILL, ...change }] });
const header = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

function linesOf(card: unknown, bytes = 0): readonly string[] {
  return lintCard(card, { bytes }).map(({ severity, path, text }) => `${severity} ${path}: ${text}`);
}

describe('X1 every shipped card', () => {
  it.each(FILES)('$name is without a finding, as a file and as it is served', (file) => {
    expect(lintCard(file, { isTemplate: true })).toEqual([]);
    const { name, description, skills } = file;
    for (const auth of ['token', 'mtls', 'none', JWT] as const) {
      const parts = { file, profile: { name, description, skills }, version: '1.0.0', auth };
      const baseUrl = 'https://agents.example';
      const card = buildCard({ ...parts, baseUrl, grpc: 'agents.example:443', isRoot: true, push: true });
      expect(lintCard(cardJson(card))).toEqual([]);
    }
  });
});

describe('the check of a card', () => {
  it('reports no finding for a good card', () => expect(lintCard(GOOD)).toEqual([]));

  it.each<readonly [string, object, RegExp]>([
    ['no name', { name: undefined }, /^error name: is missing\. A2A requires a name for people/],
    ['a blank description', { description: ' ' }, /^error description: is empty/],
    ['no version', { version: 7 }, /^error version: is 7\. A2A requires the version of the agent/],
    ['no interfaces', { supportedInterfaces: undefined }, /^error supportedInterfaces: is missing/],
    ['an empty list of interfaces', { supportedInterfaces: [] }, /^error supportedInterfaces: is empty/],
    [
      'a path for an address',
      interfaceOf({ url: '/a2a' }),
      /\[0\]\.url: is "\/a2a", but has to be an absolute URL/,
    ],
    [
      'http',
      interfaceOf({ url: 'http://w.example/' }),
      /^error .*\.url: .*requires https outside of this machine/,
    ],
    ['ftp', interfaceOf({ url: 'ftp://w.example/' }), /^error .*\.url: .*requires https/],
    ['credentials', interfaceOf({ url: 'https://a:b@w.example/' }), /^error .*\.url: holds credentials/],
    [
      'gRPC without a port',
      interfaceOf({ protocolBinding: 'GRPC', url: 'w.example' }),
      /names no host and port/,
    ],
    [
      'a misspelled binding',
      interfaceOf({ protocolBinding: 'jsonrpc' }),
      /^error .*has to be JSONRPC, HTTP\+JSON, GRPC/,
    ],
    ['a patch digit', interfaceOf({ protocolVersion: '1.0.0' }), /^error .*has to be Major\.Minor/],
    ['no capabilities', { capabilities: null }, /^error capabilities: is null\. A2A requires an object/],
    ['a flag as text', { capabilities: { streaming: 'yes' } }, /^error capabilities\.streaming: is "yes"/],
    [
      'an extension without URI',
      { capabilities: { extensions: [{}] } },
      /^error capabilities\.extensions\[0\]\.uri/,
    ],
    [
      'an extended card for nobody',
      { capabilities: { extendedAgentCard: true }, securitySchemes: {}, securityRequirements: [] },
      /^error capabilities\.extendedAgentCard/,
    ],
    ['half a provider', { provider: { organization: 'W' } }, /^error provider\.url: is missing/],
    ['a broken icon', { iconUrl: 'icon.png' }, /^error iconUrl: is "icon\.png"/],
    [
      'a scheme of 0.3',
      { securitySchemes: { token: { type: 'http' } } },
      /^error securitySchemes\.token: has no kind or several/,
    ],
    [
      'an unknown scheme',
      { securityRequirements: [{ schemes: { key: { list: [] } } }] },
      /^error securityRequirements: refers to "key"/,
    ],
    [
      'an unknown scheme of a skill',
      skillWith({ securityRequirements: [{ schemes: { key: {} } }] }),
      /^error skills\[0\]\.securityRequirements: refers to "key"/,
    ],
    ['no modes', { defaultInputModes: [] }, /^error defaultInputModes: is empty/],
    [
      'a mode that is no media type',
      { defaultOutputModes: ['text'] },
      /^error defaultOutputModes\[0\]: is "text", but has to be a media type/,
    ],
    ['no skills', { skills: undefined }, /^error skills: is missing/],
    ['a skill without tags', skillWith({ tags: undefined }), /^error skills\[0\]\.tags: is missing/],
    ['a repeated id', { skills: [SKILL, SKILL] }, /^error skills: holds the id "forecast" more than once/],
    [
      'a signature without key',
      { signatures: [{ protected: header({ alg: 'ES256' }), signature: 'x' }] },
      /^error signatures\[0\]\.protected: names no algorithm/,
    ],
    [
      'a signature by none',
      { signatures: [{ protected: header({ alg: 'none', kid: 'a' }), signature: 'x' }] },
      /^error signatures\[0\]\.protected: names no algorithm/,
    ],
    [
      'an unknown version',
      interfaceOf({ protocolVersion: '9.0' }),
      /^warning supportedInterfaces: holds none of JSONRPC/,
    ],
    [
      'a card of 0.3 beside it',
      { security: [{ token: [] }], securityRequirements: undefined },
      /^warning security: is the name in A2A 0\.3/,
    ],
    [
      'schemes that nothing asks for',
      { securityRequirements: [] },
      /^warning securityRequirements: is empty/,
    ],
    ['an empty list of skills', { skills: [] }, /^error skills: is empty/],
    ['a short description', { description: 'Weather.' }, /^warning description: is "Weather\.", too short/],
    [
      'a long description',
      skillWith({ description: 'Rain. '.repeat(200) }),
      /^warning skills\[0\]\.description: has 1200 characters/,
    ],
    [
      'the name of a tool',
      { description: 'Foretells the weather with weather_get.' },
      /^warning description: holds "weather_get"/,
    ],
    ['no tags', skillWith({ tags: [] }), /^warning skills\[0\]\.tags: is empty/],
    ['no examples', skillWith({ examples: [] }), /^warning skills\[0\]\.examples: is empty/],
    [
      'a template',
      skillWith({ examples: ['Will it rain in {town}?'] }),
      /^warning skills\[0\]\.examples\[0\]: .*Braces/,
    ],
    [
      'a single word',
      skillWith({ examples: ['rain'] }),
      /^warning skills\[0\]\.examples\[0\]: .*whole sentence/,
    ],
    ['control characters', { name: 'Fore\u001b[31mcaster' }, /^warning name: holds control characters/],
  ])('reports a finding for %s, and no other', (_what, change, expected) => {
    expect(linesOf({ ...GOOD, ...change })).toEqual([expect.stringMatching(expected)]);
  });

  it.each([
    ['loopback over http', interfaceOf({ url: 'http://127.0.0.1:4100/' })],
    ['gRPC by host and port', interfaceOf({ protocolBinding: 'GRPC', url: 'w.example:443' })],
    ['an example in Japanese', skillWith({ examples: ['明日は雨が降りますか'] })],
    ['a field that nobody knows', { later: { deep: [1] } }],
  ])('accepts %s', (_what, change) => expect(linesOf({ ...GOOD, ...change })).toEqual([]));

  it('accepts a custom binding, and says that few clients know it', () => {
    const card = {
      ...GOOD,
      ...interfaceOf({ protocolBinding: 'https://w.example/binding', url: 'wss://w.example' }),
    };
    expect(linesOf(card)).toEqual([expect.stringMatching(/^warning supportedInterfaces: /)]);
  });

  it('names the size of a card that is too large for some clients', () => {
    expect(linesOf(GOOD, 100_000)).toEqual([expect.stringMatching(/^warning : has 100000 bytes/)]);
  });

  it('reports findings for any other value, and never throws', () => {
    let deep: unknown = 'x';
    for (let depth = 0; depth < 50_000; depth += 1) deep = depth % 2 === 0 ? [deep] : { deep };
    const wrong = [
      null,
      1,
      'text',
      [],
      {},
      deep,
      { ...GOOD, skills: deep },
      { ...GOOD, capabilities: [deep] },
    ];
    const strange = [
      { __proto__: null, name: {} },
      { ...GOOD, skills: Array(50_000).fill(7) },
    ];
    const many = {
      ...GOOD,
      skills: Array.from({ length: 20_000 }, () => ({ ...SKILL, examples: ['{'.repeat(99)] })),
    };
    for (const card of [...wrong, ...strange, many]) {
      const findings = lintCard(card);
      expect(findings.length).toBeGreaterThan(0);
      expect(findings.length).toBeLessThanOrEqual(101);
      for (const { path, text } of findings) expect(path.length + text.length).toBeLessThan(600);
    }
  });
});
