import type { AgentCard } from '@a2a-js/sdk';
import type { SigningKey } from '../../core/card.js';
import type { JsonObject } from '../../core/json.js';
import { canonicalCard } from '../translate/card-canonical.js';
import { cardJson } from './card.js';

/** A JSON Web Token in its compact form (RFC 7519). */
export function signJwt(key: SigningKey, claims: JsonObject): string {
  const head = encode({ alg: key.publicJwk.alg, kid: key.kid, typ: 'JWT' });
  const bytes = `${head}.${encode(claims)}`;
  return `${bytes}.${key.sign(bytes)}`;
}

export interface DetachedSignature {
  readonly protected: string;
  readonly signature: string;
}

/** A JSON Web Signature whose payload travels apart from it (RFC 7515 appendix F). */
export function signDetached(key: SigningKey, payload: string): DetachedSignature {
  const head = encode({ alg: key.publicJwk.alg, kid: key.kid, typ: 'JOSE' });
  return { protected: head, signature: key.sign(`${head}.${Buffer.from(payload).toString('base64url')}`) };
}

function encode(value: JsonObject): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** The same card with one signature, over the JSON that is served. Equal cards and keys give equal signatures. */
export function signCard(card: AgentCard, key: SigningKey): AgentCard {
  const signature = signDetached(key, canonicalCard(cardJson(card)));
  return { ...card, signatures: [{ ...signature, header: undefined }] };
}

/**
 * The card's JSON with a signature over all of it, and one over each of its `views`: readers that drop what their
 * version does not know come to other bytes than those that do not.
 */
export function signedJson(
  json: JsonObject,
  key: SigningKey | undefined,
  ...views: readonly JsonObject[]
): JsonObject {
  if (!key) return json;
  const signatures = [...views, json].map((view) => ({ ...signDetached(key, canonicalCard(view)) }));
  return { ...json, signatures };
}
