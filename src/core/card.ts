import type { CardDetails, Skill } from './agent.js';
import type { JsonObject } from './json.js';

/** The path of an agent's card (RFC 8615), below the path of the agent. */
export const CARD_PATH = '/.well-known/agent-card.json';
/** The path of the card before version 0.3, and for some clients of 0.3. */
export const OLD_CARD_PATH = '/.well-known/agent.json';
/** The path of the keys that the server signs with (RFC 7517). */
export const KEYS_PATH = '/.well-known/jwks.json';

/** The URL of a path of the server that `address` (of the server, or of one of its agents or cards) belongs to. */
export function serverUrl(address: string | URL, path: string): URL {
  const { origin, pathname } = new URL(address);
  const mountPath = pathname.replace(/\/\.well-known\/.*$/, '').replace(/(\/agents\/[^/]+)?\/?$/, '');
  return new URL(origin + mountPath + path);
}

/** The reviewed part of an agent's card: one file in agent-cards/. The server adds the rest when it serves the card. */
export interface CardFile extends CardDetails {
  readonly name: string;
  readonly description: string;
  readonly defaultInputModes: readonly string[];
  readonly defaultOutputModes: readonly string[];
  /** A skill that names a capability of tools is published only while the agent has such a tool; others always. */
  readonly skills: readonly Skill[];
}

/** A key pair of the node. With Ed25519, equal content has equal signatures. */
export interface SigningKey {
  /** The thumbprint of the public key (RFC 7638). */
  readonly kid: string;
  readonly publicJwk: Readonly<{
    kty: 'OKP';
    crv: 'Ed25519';
    x: string;
    kid: string;
    alg: string;
    use: 'sig';
  }>;
  /** Returns the signature of the text's bytes, in base64url. */
  sign(bytes: string): string;
}

/** Signs claims as a JSON Web Token in compact form (RFC 7519). */
export function signJwt(key: SigningKey, claims: JsonObject, typ = 'JWT'): string {
  const head = encodePart({ alg: key.publicJwk.alg, kid: key.kid, typ });
  const bytes = `${head}.${encodePart(claims)}`;
  return `${bytes}.${key.sign(bytes)}`;
}

/**
 * The header of a card's signature that leaves out what the official SDKs leave out. A strict reader must not accept such a
 * signature: an attacker could remove a security requirement without scopes, or the security schemes.
 */
export const OMITS_MEMBERS = 'urn:lango:jws:omits-members';

/** Encodes an object as a part of a JSON Web Signature. */
export const encodePart = (value: JsonObject): string =>
  Buffer.from(JSON.stringify(value)).toString('base64url');

export interface KeySet {
  readonly current: SigningKey;
  /** The current key first, then the keys that it replaced recently. */
  readonly published: readonly SigningKey[];
}

/** Reads the current keys, which may be rotated while the server runs. */
export type ReadKeys = () => Promise<KeySet>;

/** The signature algorithms (JWS) that are accepted from others. All are asymmetric: anyone could sign without a key. */
export const SIGNATURE_ALGORITHMS = [
  ...(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const),
  ...(['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'] as const),
] as const;
