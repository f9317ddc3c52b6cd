import type { AgentCard } from '@a2a-js/sdk';
import { encodePart, type SigningKey } from '../../core/card.js';
import type { JsonObject } from '../../core/json.js';
import { canonicalCard } from '../translate/card-canonical.js';
import { cardJson } from './card.js';

/** Signs a payload as a JSON Web Signature that does not contain it (RFC 7515 appendix F). */
export function signDetached(key: SigningKey, payload: string) {
  const head = encodePart({ alg: key.publicJwk.alg, kid: key.kid, typ: 'JOSE' });
  return { protected: head, signature: key.sign(`${head}.${Buffer.from(payload).toString('base64url')}`) };
}

/** Adds a signature over the JSON of the card. Equal cards and keys give equal signatures. */
export function signCard(card: AgentCard, key: SigningKey): AgentCard {
  const signature = signDetached(key, canonicalCard(cardJson(card)));
  return { ...card, signatures: [{ ...signature, header: undefined }] };
}

/**
 * Adds a signature over the whole JSON of the card, and one over each of its `views`: a reader that drops the members of
 * another version verifies other bytes than one that keeps them.
 */
export function signedJson(json: JsonObject, key: SigningKey | undefined, ...views: readonly JsonObject[]) {
  if (!key) return json;
  const signatures = [...views, json].map((view) => signDetached(key, canonicalCard(view)));
  return { ...json, signatures };
}
