import type { Skill } from './agent.js';

/** Where an agent's card is (RFC 8615), below the agent's own path. */
export const CARD_PATH = '/.well-known/agent-card.json';
/** Where peers of before 0.3, and some of 0.3, look. */
export const OLD_CARD_PATH = '/.well-known/agent.json';
/** Where a server lists the cards of all its agents. */
export const CATALOG_PATH = '/.well-known/ai-catalog.json';
/** What an entry of the catalog is, when it is a card. */
export const CARD_TYPE = 'application/a2a-agent-card+json';
/** Where a server publishes the keys that it signs with (RFC 7517). */
export const KEYS_PATH = '/.well-known/jwks.json';

/**
 * The URL of a path of the server that `address` belongs to. The address names the server itself, below the path that it
 * may be mounted at in another app, or one of its agents or cards.
 */
export function serverUrl(address: string | URL, path: string): URL {
  const { origin, pathname } = new URL(address);
  const mountPath = pathname.replace(/\/\.well-known\/.*$/, '').replace(/(\/agents\/[^/]+)?\/?$/, '');
  return new URL(origin + mountPath + path);
}

/**
 * The reviewed part of a published agent's card: one file in agent-cards/. The server adds version, interfaces,
 * capabilities, security and signatures when it serves the card.
 */
export interface CardFile {
  readonly name: string;
  readonly description: string;
  /** Without `url`, the server gives its own address. */
  readonly provider?: { readonly organization: string; readonly url?: string };
  readonly iconUrl?: string;
  readonly documentationUrl?: string;
  readonly defaultInputModes: readonly string[];
  readonly defaultOutputModes: readonly string[];
  /**
   * A skill whose id is a capability of tools (`file-operations`) is published only while the agent has such a tool.
   * Other skills are always published.
   */
  readonly skills: readonly Skill[];
}

interface PublicJwk {
  readonly kty: 'OKP';
  readonly crv: 'Ed25519';
  readonly x: string;
  readonly kid: string;
  readonly alg: string;
  readonly use: 'sig';
}

/** One of the node's own key pairs; Ed25519, so that equal content has equal signatures. */
export interface SigningKey {
  /** The thumbprint of its public half (RFC 7638). */
  readonly kid: string;
  readonly publicJwk: PublicJwk;
  /** The signature of the text's bytes, in base64url. */
  sign(bytes: string): string;
}

/** What a node signs with, and what others may check with. */
export interface KeySet {
  readonly current: SigningKey;
  /** The current one first, then those that were rotated out a while ago. */
  readonly published: readonly SigningKey[];
}

/** The keys there are now: they may be rotated under a running server. */
export type ReadKeys = () => Promise<KeySet>;

/**
 * Signatures that are taken from others, by their names in a JWS (RFC 7518, RFC 8037, RFC 9864). Asymmetric ones
 * only: with "none" or a shared secret anybody could have signed.
 */
export const SIGNATURE_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
] as const;
