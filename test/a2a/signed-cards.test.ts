import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:http';
import { json as readJson } from 'node:stream/consumers';
import { describe, expect, it, jest } from '@jest/globals';
import { AgentCard, generateAgentCardSignature, verifyAgentCardSignature } from '@a2a-js/sdk';
import { DefaultAgentCardResolver } from '@a2a-js/sdk/client';
import { createLocalJWKSet, exportJWK, type JWK } from 'jose';
import { cardHash, verifyCard } from '../../src/a2a/client/card.js';
import { signDetached, signedJson } from '../../src/a2a/server/signing.js';
import { canonicalCard } from '../../src/a2a/translate/card-canonical.js';
import { parseCard } from '../../src/a2a/client/card.js';
import type { JsonObject } from '../../src/core/json.js';
import type { SigningKey } from '../../src/core/card.js';
import { rotateKeys } from '../../src/config/node-credentials.js';
import { SERVED_CARDS, ed25519Key } from '../support/served-cards.js';
import { withServer } from '../support/server.js';

const CARD = '/agents/planner/.well-known/agent-card.json';
const NO_SKILLS = { description: '', name: 'a', skills: [], version: '1' };

async function json(url: string, headers: Record<string, string> = {}): Promise<JsonObject> {
  return (await (await fetch(url, { headers })).json()) as JsonObject;
}

const trust = async (origin: string) =>
  createLocalJWKSet((await json(`${origin}/.well-known/jwks.json`)) as never);

describe('the canonical text of a card', () => {
  it('keeps required members when they are empty, or left out by an encoder', () => {
    const whole = canonicalCard({ ...NO_SKILLS, supportedInterfaces: [], capabilities: {} });
    expect(JSON.parse(whole)).toMatchObject({
      description: '',
      skills: [],
      capabilities: {},
      defaultInputModes: [],
    });
    expect(canonicalCard({ name: 'a', version: '1', capabilities: {} })).toBe(whole);
  });

  it('keeps optional members that are set, and drops other defaults', () => {
    const card = {
      ...NO_SKILLS,
      iconUrl: '',
      capabilities: { streaming: false, extensions: [{ uri: 'u', required: false, description: '' }] },
      securitySchemes: {},
      provider: null,
      skills: [{ id: 's', name: '', description: '', tags: [], examples: [], inputModes: [] }],
    };
    const signed = JSON.parse(canonicalCard(card)) as JsonObject;
    expect(signed).toMatchObject({
      iconUrl: '',
      capabilities: { streaming: false, extensions: [{ uri: 'u' }] },
    });
    expect(signed['skills']).toEqual([{ id: 's', name: '', description: '', tags: [] }]);
    expect(signed).not.toHaveProperty('securitySchemes');
    expect(signed).not.toHaveProperty('provider');
    expect(JSON.stringify(signed)).not.toContain('required');
  });

  it('keeps empty members of messages and maps', () => {
    const card = {
      ...NO_SKILLS,
      securitySchemes: { mtls: { mtlsSecurityScheme: {} } },
      securityRequirements: [{ schemes: { mtls: { list: [] } } }],
    };
    expect(JSON.parse(canonicalCard(card))).toMatchObject({
      securitySchemes: { mtls: { mtlsSecurityScheme: {} } },
      securityRequirements: [{ schemes: { mtls: {} } }],
    });
  });

  it('is sorted and without white space (RFC 8785), without signatures, and with unknown members', () => {
    const card = { version: '1', signatures: [{}], name: 'ö€', future: { b: 1e21, a: null } };
    expect(canonicalCard(card)).toBe(
      '{"defaultInputModes":[],"defaultOutputModes":[],"description":"","future":{"a":null,"b":1e+21},"name":"ö€","skills":[],"supportedInterfaces":[],"version":"1"}',
    );
  });
});

describe('a served card', () => {
  it('is signed by a key of the published set, with the same bytes each time', async () => {
    await withServer({}, async ({ address: { origin } }) => {
      const first = await fetch(origin + CARD);
      const card = (await first.json()) as JsonObject;
      expect(await verifyCard(card, await trust(origin))).toMatchObject({ alg: 'EdDSA' });
      const etag = first.headers.get('etag')!;
      const modified = first.headers.get('last-modified')!;
      expect((await fetch(origin + CARD)).headers.get('etag')).toBe(etag);
      const notModified = async (headers: Record<string, string>) =>
        (await fetch(origin + CARD, { headers })).status;
      expect(await notModified({ 'if-none-match': etag })).toBe(304);
      expect(await notModified({ 'if-modified-since': modified })).toBe(304);
      expect(await notModified({ 'if-modified-since': new Date(0).toUTCString() })).toBe(200);
      expect(await notModified({ 'if-none-match': '"other"', 'if-modified-since': modified })).toBe(200);
      expect(first.headers.get('link')).toContain('rel="ai-catalog"');
    });
  });

  it('is signed by the new key after a rotation, and the old one stays published for a while', async () => {
    await withServer({}, async ({ address: { origin }, home }) => {
      const before = await json(origin + CARD);
      const keys = await rotateKeys(home);
      expect(keys).toHaveLength(2);
      const after = await json(origin + CARD);
      expect((await verifyCard(after, await trust(origin))).kid).toBe(keys[0]!.kid);
      expect((await verifyCard(before, await trust(origin))).kid).toBe(keys[1]!.kid);
      const later = await rotateKeys(home, Date.now() + 31 * 86_400_000);
      expect(later.map(({ kid }) => kid)).not.toContain(keys[1]!.kid);
    });
  });

  it('is not signed when that is switched off', async () => {
    await withServer(
      { settings: { server: { port: 0 }, a2a: { signCards: false } } },
      async ({ address }) => {
        expect(await json(address.origin + CARD)).not.toHaveProperty('signatures');
      },
    );
  });

  it.each<readonly [string, (card: JsonObject) => JsonObject]>([
    ['its security is stripped', ({ securitySchemes: _s, securityRequirements: _r, ...card }) => card],
    ['only its requirement is stripped', ({ securityRequirements: _r, ...card }) => card],
    [
      'an address is changed',
      (card) => ({ ...card, supportedInterfaces: [{ url: 'https://evil.example' }] }),
    ],
    ['a skill is added', (card) => ({ ...card, skills: [...(card['skills'] as JsonObject[]), { id: 'x' }] })],
    ['an unknown member is added', (card) => ({ ...card, security_requirements: [] })],
    ['a capability is turned off', (card) => ({ ...card, capabilities: { streaming: true } })],
    ['its signatures are taken away', ({ signatures: _s, ...card }) => card],
  ])('does not verify when %s', async (_what, change) => {
    const { card, findKey } = ownCard();
    await expect(verifyCard(card, findKey)).resolves.toMatchObject({ alg: 'EdDSA' });
    await expect(verifyCard(change(card), findKey)).rejects.toMatchObject({ code: 'forbidden' });
  });

  it.each<readonly [string, JsonObject]>([
    ['the algorithm is none', { alg: 'none', kid: 'own' }],
    ['the algorithm is a shared secret', { alg: 'HS256', kid: 'own' }],
    ['the key is unknown', { alg: 'EdDSA', kid: 'stranger' }],
    ['no key is named', { alg: 'EdDSA' }],
    ['an extension of the signature is critical', { alg: 'EdDSA', kid: 'own', crit: ['x'], x: 1 }],
    ['its payload is not to be encoded', { alg: 'EdDSA', kid: 'own', crit: ['b64'], b64: false }],
  ])('does not verify with a good signature when %s', async (_what, header) => {
    const { card, findKey, key } = ownCard();
    const good = { ...card, signatures: [signedWith(header, key, card)] };
    await expect(verifyCard(good, findKey)).rejects.toMatchObject({ code: 'forbidden' });
  });

  it('verifies when one of several signatures is good, and without "typ"', async () => {
    const { card, findKey, key } = ownCard();
    const bare = signDetached(key, canonicalCard(card));
    const untyped = signedWith({ alg: 'EdDSA', kid: key.kid }, key, card);
    const several = { ...card, signatures: [{ ...bare, signature: 'AAAA' }, untyped] };
    await expect(verifyCard(several as never, findKey)).resolves.toMatchObject({ kid: key.kid });
  });

  it("verifies a signature of the stock SDK when the SDK's bytes are those of the protocol", async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const jwk = { ...(await exportJWK(publicKey)), kid: 'stock', alg: 'ES256' };
    const plain: JsonObject = ownCard().card;
    const { signatures: _, securitySchemes: _s, securityRequirements: _r, ...agreeing } = plain;
    const stockSign = generateAgentCardSignature(privateKey, {
      alg: 'ES256',
      kid: 'stock',
      typ: 'JOSE',
    });
    const { signatures } = await stockSign(parseCard(agreeing));
    const findKey = createLocalJWKSet({ keys: [jwk] });
    const wire = signatures.map(({ protected: head, signature }) => ({ protected: head, signature }));
    await expect(verifyCard({ ...agreeing, signatures: wire }, findKey)).resolves.toEqual({
      kid: 'stock',
      alg: 'ES256',
    });
    // The SDK's bytes leave out a requirement without scopes, so anybody could strip it. Such a signature does not
    // count.
    const signed = await stockSign(parseCard(plain));
    const stripped = signed.signatures.map(({ protected: head, signature }) => ({
      protected: head,
      signature,
    }));
    await expect(verifyCard({ ...plain, signatures: stripped }, findKey)).rejects.toMatchObject({
      code: 'forbidden',
    });
  });
});

describe('the verifier of the SDK for JavaScript (that of the SDK for Python is in interop/verifiers.test.ts)', () => {
  it.each(SERVED_CARDS)('accepts the cards of mode %s, for 1.0 and for any version', async (_mode, build) => {
    using _quiet = jest.spyOn(console, 'debug').mockReturnValue(undefined);
    const { key, findKey } = ownCard();
    for (const card of build(key)) {
      await expect(verifyCard(card, findKey)).resolves.toBeDefined();
      const verify = verifyAgentCardSignature(async () => key.publicJwk);
      // As it arrived, and as the SDK's resolver and client read it.
      await verify(card as unknown as AgentCard);
      await verify(AgentCard.fromJSON(card));
    }
  });

  it('accepts the cards of a running server, as its resolver fetches them', async () => {
    using _quiet = jest.spyOn(console, 'debug').mockReturnValue(undefined);
    await withServer({}, async ({ address: { origin } }) => {
      const { keys } = (await json(`${origin}/.well-known/jwks.json`)) as unknown as { readonly keys: JWK[] };
      const card = await new DefaultAgentCardResolver().resolve(`${origin}/agents/planner/`);
      expect(card.securityRequirements).toHaveLength(1);
      const verify = verifyAgentCardSignature(async (kid) => keys.find((one) => one.kid === kid)!);
      await expect(verify(card)).resolves.toBeUndefined();
      await expect(verify({ ...card, name: 'other' })).rejects.toThrow('No valid signatures');
    });
  });

  it('gets signatures of its own, which ours refuses: a requirement without scopes could be removed', async () => {
    const { card, key, findKey } = ownCard();
    const signed = signedJson(card, key);
    expect(signed['signatures']).toHaveLength(3);
    const { securityRequirements: _, ...stripped } = signed as JsonObject;
    await expect(verifyCard(stripped, findKey)).rejects.toMatchObject({ code: 'forbidden' });
    const ofSdks = { ...signed, signatures: (signed['signatures'] as JsonObject[]).slice(1) };
    await expect(verifyCard(ofSdks, findKey)).rejects.toThrow('a signature leaves out members of the card.');
  });
});

interface AddressCase {
  readonly what: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly trustProxy?: boolean;
  readonly a2a?: object;
  /** The beginning of each address. */
  readonly wanted: string;
}

describe('an extended card', () => {
  it('shows authenticated callers the tools that the public one leaves out, signed too, over both bindings', async () => {
    const settings = { server: { port: 0 }, tools: { fs: { enabled: true }, exec: { enabled: false } } };
    await withServer({ settings }, async (server) => {
      const { origin } = server.address;
      const publicCard = await json(`${origin}/agents/operator/.well-known/agent-card.json`);
      expect(publicCard['capabilities']).toMatchObject({ extendedAgentCard: true });
      expect(JSON.stringify(publicCard)).not.toContain('fs_read');
      const rest = (await (await server.fetch('/agents/operator/extendedAgentCard')).json()) as JsonObject;
      expect(rest['skills']).toContainEqual(
        expect.objectContaining({ id: 'fs_read', tags: expect.arrayContaining(['tool']) }),
      );
      expect(rest['name']).toBe('operator');
      await expect(verifyCard(rest, await trust(origin))).resolves.toBeDefined();
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'GetExtendedAgentCard' });
      const rpc = (await (
        await server.fetch('/agents/operator', { method: 'POST', body })
      ).json()) as JsonObject;
      expect(rpc['result']).toEqual(rest);
      const root = (await (await server.fetch('/extendedAgentCard')).json()) as JsonObject;
      expect(JSON.stringify(root['skills'])).toContain('operator/file-operations');
      const anonymous = await fetch(`${origin}/agents/operator/extendedAgentCard`);
      expect([anonymous.status, anonymous.headers.get('www-authenticate')]).toEqual([
        401,
        expect.stringMatching(/Bearer/),
      ]);
    });
  });

  const proxied = { 'x-forwarded-host': 'agents.example', 'x-forwarded-proto': 'https' };
  it.each<AddressCase>([
    { what: 'its own address', wanted: 'http://127.0.0.1:' },
    {
      what: 'the name that a client used',
      headers: { host: 'agents.example' },
      wanted: 'http://agents.example/',
    },
    {
      what: 'that of a trusted proxy',
      trustProxy: true,
      headers: proxied,
      wanted: 'https://agents.example/',
    },
    { what: 'not that of any other proxy', headers: proxied, wanted: 'http://127.0.0.1:' },
    {
      what: 'a2a.baseUrl',
      a2a: { baseUrl: 'https://a.example/x' },
      headers: proxied,
      wanted: 'https://a.example/x/',
    },
  ])(
    'names the same addresses as the public card: $what',
    async ({ headers = {}, wanted, a2a = {}, ...more }) => {
      const { trustProxy = false } = more;
      const grpc = { enabled: true, port: 0 };
      const settings = { a2a, server: { port: 0, allowedHosts: ['agents.example'], grpc, trustProxy } };
      await withServer({ settings }, async ({ address: { origin, token } }) => {
        const asked = async (path: string, body?: object): Promise<JsonObject> => {
          const all = { ...headers, authorization: `Bearer ${token}`, 'content-type': 'application/json' };
          const sending = request(origin + path, { method: body ? 'POST' : 'GET', headers: all });
          const [answer] = (await once(sending.end(body && JSON.stringify(body)), 'response')) as [
            IncomingMessage,
          ];
          return (await readJson(answer)) as JsonObject;
        };
        for (const agent of ['', '/agents/planner']) {
          const { supportedInterfaces: addresses } = await asked(`${agent}/.well-known/agent-card.json`);
          expect(addresses).toContainEqual(
            expect.objectContaining({ url: expect.stringMatching(`^${wanted}`) }),
          );
          expect(addresses).toContainEqual(expect.objectContaining({ protocolBinding: 'GRPC' }));
          expect(await asked(`${agent}/extendedAgentCard`)).toMatchObject({ supportedInterfaces: addresses });
          const rpc = await asked(agent || '/', { jsonrpc: '2.0', id: 1, method: 'GetExtendedAgentCard' });
          expect(rpc).toMatchObject({ result: { supportedInterfaces: addresses } });
        }
      });
    },
  );

  it('does not exist on a server that does not tell callers apart', async () => {
    await withServer(
      { settings: { server: { port: 0 }, auth: { mode: 'none' } } },
      async ({ address: { origin } }) => {
        expect((await json(origin + CARD))['capabilities']).not.toHaveProperty('extendedAgentCard');
        expect((await fetch(`${origin}/agents/planner/extendedAgentCard`)).status).toBe(400);
      },
    );
  });
});

describe('a remote card that must be signed', () => {
  it('is used when its signature verifies, and else skipped with a warning', async () => {
    await withServer({}, async ({ address: { origin, token } }) => {
      const url = `${origin}/agents/planner`;
      const hash = cardHash(await json(origin + CARD, { 'a2a-version': '1.0' }));
      const jwks = `${origin}/.well-known/jwks.json`;
      const peer = { url, token: token!, allowPrivate: true };
      await withServer({}, async (other) => {
        const remoteAgents = [
          { ...peer, name: 'signed', verify: { jwks } },
          { ...peer, name: 'pinned', verify: { hash } },
          { ...peer, name: 'foreign', verify: { jwks: `${other.address.origin}/.well-known/jwks.json` } },
          { ...peer, name: 'keyless', verify: { keys: '/nowhere/jwks.json' } },
          { ...peer, name: 'changed', verify: { hash: '0'.repeat(64) } },
        ];
        const settings = { server: { port: 0 }, a2a: { enabled: true, remoteAgents } };
        await withServer({ settings }, async (server) => {
          const status = (await (await server.fetch('/lango/agents')).json()) as {
            readonly peers: readonly {
              readonly name: string;
              readonly state: string;
              readonly reason?: string;
            }[];
          };
          const of = (name: string) => status.peers.find((one) => one.name === name);
          expect([of('signed')?.state, of('pinned')?.state]).toEqual(['ready', 'ready']);
          expect(of('foreign')).toMatchObject({
            state: 'held',
            reason: expect.stringContaining('No signature'),
          });
          expect(of('keyless')).toMatchObject({
            state: 'held',
            reason: expect.stringMatching(
              /: The key file \/nowhere\/jwks.json cannot be read: .*ENOENT[^.]+jwks.json'\.$/,
            ),
          });
          expect(of('changed')).toMatchObject({ state: 'held', reason: expect.stringContaining(hash) });
          expect(server.log.lines.filter((line) => line.includes('skipped'))).toHaveLength(3);
        });
      });
    });
  });
});

/** A card and the key it is signed with. */
function ownCard() {
  const key = ed25519Key();
  const card: JsonObject = {
    name: 'own',
    description: 'An agent.',
    version: '1.0.0',
    supportedInterfaces: [
      { url: 'https://own.example/', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    ],
    capabilities: { streaming: true, extendedAgentCard: true },
    securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
    securityRequirements: [{ schemes: { bearer: {} } }],
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 's', name: 'S', description: 'Does it.', tags: ['t'] }],
  };
  const signatures = [{ ...signDetached(key, canonicalCard(card)) }];
  return { card: { ...card, signatures }, key, findKey: createLocalJWKSet({ keys: [key.publicJwk] }) };
}

/** A signature of the card with this protected header. */
function signedWith(header: JsonObject, key: SigningKey, card: JsonObject): JsonObject {
  const head = Buffer.from(JSON.stringify(header)).toString('base64url');
  const payload = Buffer.from(canonicalCard(card)).toString('base64url');
  return { protected: head, signature: key.sign(`${head}.${payload}`) };
}
