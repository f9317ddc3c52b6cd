import { generateKeyPairSync } from 'node:crypto';
import type { AgentCard, AgentCardSignatureGenerator } from '@a2a-js/sdk';
import { canonicalizeAgentCard, generateAgentCardSignature, verifyAgentCardSignature } from '@a2a-js/sdk';
import { createLocalJWKSet } from 'jose';
import { verifyCard } from '../../../src/a2a/client/card-trust.js';
import { canonicalCard } from '../../../src/a2a/translate/card-canonical.js';
import { openKeys } from '../../../src/config/key-file.js';
import type { JsonObject } from '../../../src/core/json.js';
import type { ReadKeys } from '../../../src/core/keys.js';

/** What each side makes of a card in its own way. */
export interface CardReader {
  /** The text that signatures are made over. */
  canonical(card: JsonObject): string;
  /** Whether a signature of this side's server stands over the card as it is. */
  verifies(card: JsonObject): Promise<boolean>;
}

export async function ourSigning(home: string): Promise<{ reader: CardReader; keys: ReadKeys }> {
  const { read: keys } = await openKeys(home);
  const reader: CardReader = {
    canonical: canonicalCard,
    async verifies(card) {
      const published = (await keys()).published.map(({ publicJwk }) => ({ ...publicJwk }));
      return succeeds(verifyCard(card, createLocalJWKSet({ keys: published })));
    },
  };
  return { reader, keys };
}

/** With the algorithm of the SDK's examples. */
export function stockSigning(): { reader: CardReader; sign: AgentCardSignatureGenerator } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const verify = verifyAgentCardSignature(async () => publicKey);
  const reader: CardReader = {
    canonical: (card) => canonicalizeAgentCard(card as unknown as AgentCard),
    verifies: (card) => succeeds(verify(card as unknown as AgentCard)),
  };
  return {
    reader,
    sign: generateAgentCardSignature(privateKey, { alg: 'ES256', kid: 'stock', typ: 'JOSE' }),
  };
}

function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}
