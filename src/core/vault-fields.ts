import { z } from 'zod';
import { VAULT_NAME } from './secrets.js';
import { SIGN_INS } from './vault.js';

/** The name of a secret or a key. */
export function nameField(description: string): z.ZodString {
  return z
    .string()
    .regex(VAULT_NAME, 'must be a letter, then up to 63 letters, digits, "_", "." or "-"')
    .refine(
      (name) => !name.startsWith(SIGN_INS),
      `must not begin with "${SIGN_INS}": lango mcp login keeps such names`,
    )
    .describe(description);
}
