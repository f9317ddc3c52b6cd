import { hash } from 'node:crypto';
import type { FlattenedJWSInput, JWSHeaderParameters, LocalJWKSet } from 'jose';
import { LangoError, errorText } from '../../core/errors.js';
import type { JsonObject } from '../../core/json.js';
import { isJsonObject } from '../../core/json.js';
import { SIGNATURE_ALGORITHMS } from '../../core/card.js';
import { canonicalCard } from '../translate/card-canonical.js';

/** Finds the public key that a signature names, among those that are trusted. Rejects when there is none. */
export type FindKey = (
  header: JWSHeaderParameters,
  token: FlattenedJWSInput,
) => Promise<Awaited<ReturnType<LocalJWKSet>>>;

/** What an operator asks of another server's card before it is used. */
export interface CardTrust {
  /** One signature has to be by one of these keys. */
  readonly findKey?: FindKey;
  /** The card has to be this one: see `cardHash`. */
  readonly hash?: string;
}

export interface CardSigner {
  readonly kid: string;
  readonly alg: string;
}

const MAX_SIGNATURES = 16;

/** The SHA-256 of what signatures are made over, in hex: it changes when the card does, apart from its signatures. */
export function cardHash(card: JsonObject): string {
  return hash('sha256', canonicalCard(card), 'hex');
}

/** Throws `forbidden` for a card that is not trusted, saying why. */
export async function assertTrustedCard(card: JsonObject, trust: CardTrust): Promise<void> {
  const found = cardHash(card);
  if (trust.hash !== undefined && trust.hash.toLowerCase() !== found) {
    throw new LangoError('forbidden', `The card is not the one that was accepted: its hash is ${found}.`, {
      hint: 'Look at it with "lango card URL --verify"; to accept it, set verify.hash to this hash.',
    });
  }
  if (trust.findKey) await verifyCard(card, trust.findKey);
}

/**
 * Resolves with who signed the card, as it was received: nothing of it is read into types before. One good signature
 * is enough, so that keys can be rotated. Rejects with `forbidden`.
 */
export async function verifyCard(card: JsonObject, findKey: FindKey): Promise<CardSigner> {
  const signatures = Array.isArray(card['signatures']) ? (card['signatures'] as readonly unknown[]) : [];
  if (signatures.length === 0) throw new LangoError('forbidden', 'The card is not signed.');
  const payload = Buffer.from(canonicalCard(card)).toString('base64url');
  const reasons: string[] = [];
  for (const signature of signatures.slice(0, MAX_SIGNATURES)) {
    try {
      return await verifyOne(signature, payload, findKey);
    } catch (error) {
      reasons.push(whyOf(error));
    }
  }
  throw new LangoError(
    'forbidden',
    `No signature of the card can be verified: ${[...new Set(reasons)].join('; ')}.`,
  );
}

/** Where there are no keys, why there are none. */
function whyOf(error: unknown): string {
  const isWithoutKeys = error instanceof LangoError && error.code === 'unavailable';
  return errorText(isWithoutKeys ? error.cause : error).replace(/\.$/, '');
}

/** The unprotected header says nothing that counts, so it is left out. */
async function verifyOne(signature: unknown, payload: string, findKey: FindKey): Promise<CardSigner> {
  if (!isJsonObject(signature)) throw new Error('a signature is not an object');
  const { protected: head, signature: value } = signature;
  if (typeof head !== 'string' || typeof value !== 'string') throw new Error('a signature is incomplete');
  const { flattenedVerify } = await import('jose');
  const { protectedHeader } = await flattenedVerify(
    { protected: head, payload, signature: value },
    findNamed(findKey),
    {
      algorithms: [...SIGNATURE_ALGORITHMS],
    },
  );
  return { kid: String(protectedHeader?.kid), alg: String(protectedHeader?.alg) };
}

/** Which key it is has to stand in the signature: trying them all would accept what nobody meant. */
function findNamed(findKey: FindKey): FindKey {
  return (header, token) => {
    if (!header.kid) return Promise.reject(new Error('a signature names no key'));
    return findKey(header, token);
  };
}
