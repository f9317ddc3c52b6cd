import { z } from 'zod';

const family = (description: string, offer: string) =>
  z
    .strictObject({ enabled: z.boolean().default(true).describe(offer) })
    .prefault({})
    .describe(description);

export const secretsTools = family('Storing secrets and using them by reference.', 'Offer the secret tools.');
export const cryptoTools = family('Hashes, signatures and encryption.', 'Offer the cryptography tools.');
