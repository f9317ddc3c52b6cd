import type { AgentCard } from '@a2a-js/sdk';
import type { JsonObject } from '../../core/json.js';
import type { SigningKey } from '../../core/card.js';
import { canonicalCard } from '../translate/card-canonical.js';
import { cardJson } from './card.js';
import { signDetached } from './signing.js';

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
