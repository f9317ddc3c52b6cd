import { generateKeyPairSync } from 'node:crypto';
import type { AgentCard, AgentCardSignatureGenerator } from '@a2a-js/sdk';
import { canonicalizeAgentCard, generateAgentCardSignature, verifyAgentCardSignature } from '@a2a-js/sdk';
import type { JSONWebKeySet } from 'jose';
import { FlattenedSign, createLocalJWKSet, generateKeyPair } from 'jose';
import { verifyCard } from '../../../src/a2a/client/card.js';
import { canonicalCard } from '../../../src/a2a/translate/card-canonical.js';
import type { JsonObject } from '../../../src/core/json.js';

/** The canonical form, signatures and verification of a card on one side. */
export interface CardReader {
  /** The canonical text that signatures are made over. */
  canonical(card: JsonObject): string;
  /** Whether a signature of this side's server verifies for the card. */
  verifies(card: JsonObject): Promise<boolean>;
  /** Whether the side accepts a good signature whose header names algorithm and key, but no type (`typ`). */
  takesUntyped(card: JsonObject): Promise<boolean>;
}

/** Reads the keys that our server publishes. */
export function ourCards(originOf: () => string): CardReader {
  return {
    canonical: canonicalCard,
    async verifies(card) {
      const published = await (await fetch(`${originOf()}/.well-known/jwks.json`)).json();
      return succeeds(verifyCard(card, createLocalJWKSet(published as JSONWebKeySet)));
    },
    takesUntyped: async (card) => {
      const { signed, publicKey } = await signUntyped(card, canonicalCard(card));
      return succeeds(verifyCard(signed, async () => publicKey));
    },
  };
}

/** Signs and verifies by the SDK, with the algorithm of its examples. */
export function stockSigning(): { reader: CardReader; sign: AgentCardSignatureGenerator } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const verify = verifyAgentCardSignature(async () => publicKey);
  const reader: CardReader = {
    canonical: (card) => canonicalizeAgentCard(card as unknown as AgentCard),
    verifies: (card) => succeeds(verify(card as unknown as AgentCard)),
    async takesUntyped(card) {
      const { signed, publicKey: key } = await signUntyped(card, this.canonical(card));
      return succeeds(verifyAgentCardSignature(async () => key)(signed as unknown as AgentCard));
    },
  };
  return {
    reader,
    sign: generateAgentCardSignature(privateKey, { alg: 'ES256', kid: 'stock', typ: 'JOSE' }),
  };
}

async function signUntyped(card: JsonObject, text: string) {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const { protected: head, signature } = await new FlattenedSign(Buffer.from(text))
    .setProtectedHeader({ alg: 'ES256', kid: 'untyped' })
    .sign(privateKey);
  return { signed: { ...card, signatures: [{ protected: head!, signature }] }, publicKey };
}

function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}
