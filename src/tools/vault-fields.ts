import { z } from 'zod';
import { VAULT_NAME } from '../stores/vault.js';

/** The name of a secret or a key. */
export function nameField(description: string): z.ZodString {
  return z
    .string()
    .regex(VAULT_NAME, 'must be a letter, then up to 63 letters, digits, "_", "." or "-"')
    .describe(description);
}
