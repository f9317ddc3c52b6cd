import type { AgentCard } from '@a2a-js/sdk';
import { OMITS_MEMBERS, encodePart, type SigningKey } from '../../core/card.js';
import type { JsonObject } from '../../core/json.js';
import { canonicalCard, sdkCanonicalCards } from '../translate/card-canonical.js';
import { cardJson } from './card.js';

/** Signs a payload as a JSON Web Signature that does not contain it (RFC 7515 appendix F). */
export function signDetached(key: SigningKey, payload: string, header: JsonObject = {}) {
  const head = encodePart({ alg: key.publicJwk.alg, kid: key.kid, typ: 'JOSE', ...header });
  return { protected: head, signature: key.sign(`${head}.${Buffer.from(payload).toString('base64url')}`) };
}

/** Adds the signatures of the JSON of the card. Equal cards and keys give equal signatures. */
export function signCard(card: AgentCard, key: SigningKey): AgentCard {
  const json = cardJson(card);
  const signatures = signaturesOf(json, key, [json]).map((one) => ({ ...one, header: undefined }));
  return { ...card, signatures };
}

/**
 * Adds signatures over the whole JSON of the card, and over each of its `views`: a reader that drops the members of
 * another version verifies other bytes than one that keeps them.
 */
export function signedJson(json: JsonObject, key: SigningKey | undefined, ...views: readonly JsonObject[]) {
  return key ? { ...json, signatures: signaturesOf(json, key, [...views, json]) } : json;
}

/**
 * Signs the canonical text of each view, and the texts that the SDKs verify, when they are others. The latter cover less of
 * the card, which the header says: our verifier does not accept them.
 */
function signaturesOf(json: JsonObject, key: SigningKey, views: readonly JsonObject[]) {
  const texts = new Set(views.map(canonicalCard));
  const further = new Set(sdkCanonicalCards(json).filter((text) => !texts.has(text)));
  return [
    ...[...texts].map((text) => signDetached(key, text)),
    ...[...further].map((text) => signDetached(key, text, { [OMITS_MEMBERS]: true })),
  ];
}
