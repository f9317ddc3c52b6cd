import { generateKeyPairSync, sign } from 'node:crypto';
import { buildCard, cardJson, type CardAuth } from '../../src/a2a/server/card.js';
import { signCard, signedJson } from '../../src/a2a/server/signing.js';
import { toCardOfBoth, toOldCard } from '../../src/a2a/server/v03/card.js';
import type { SigningKey } from '../../src/core/card.js';
import type { JsonObject } from '../../src/core/json.js';

export function ed25519Key(kid = 'own'): SigningKey {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const publicJwk = { ...publicKey.export({ format: 'jwk' }), kid, alg: 'EdDSA', use: 'sig' };
  const signed = (bytes: string) => sign(null, Buffer.from(bytes), privateKey).toString('base64url');
  return { kid, publicJwk, sign: signed } as unknown as SigningKey;
}

const SKILLS = [{ id: 's', name: 'S', description: '', tags: [], examples: [] }];
const FLOW = { tokenUrl: 'https://issuer.example/token', scopes: {} };
const JWT: CardAuth = {
  openIdConnectUrl: 'https://issuer.example/.well-known/openid-configuration',
  flows: [
    { name: 'clientCredentials', members: FLOW },
    { name: 'deviceCode', members: { ...FLOW, deviceAuthorizationUrl: 'https://issuer.example/device' } },
  ],
  audience: ['lango'],
  scopes: [],
  skillScopes: new Map([['s', 'use.s']]),
};

const MODES: readonly (readonly [string, CardAuth, typeof SKILLS])[] = [
  ['token', 'token', SKILLS],
  ['mtls', 'mtls', SKILLS],
  ['none, without skills', 'none', []],
  ['jwt', JWT, SKILLS],
  ['jwt with a scope', { ...JWT, scopes: ['use'] }, SKILLS],
];

/** The signed cards of each mode, in all forms that are served: the extended card, and the public ones. */
export const SERVED_CARDS: readonly (readonly [string, (key: SigningKey) => readonly JsonObject[]])[] =
  MODES.map(([mode, auth, skills]) => [mode, (key) => servedCards({ auth, skills }, key)]);

function servedCards(of: { readonly auth: CardAuth; readonly skills: typeof SKILLS }, key: SigningKey) {
  const profile = { name: 'own', description: 'An agent.', skills: of.skills };
  const base = { file: undefined, version: '1', baseUrl: 'https://own.example' };
  const card = buildCard({ ...base, profile, auth: of.auth });
  const json = cardJson(card);
  const both = toCardOfBoth(json, toOldCard(json)!);
  return [cardJson(signCard(card, key)), signedJson(json, key), signedJson(both, key, json)];
}
