import { z } from 'zod';
import { VAULT_NAME } from '../stores/vault.js';

/** The sign-ins of people at MCP servers, which no agent may set. */
const SIGN_INS = 'mcp.';

/** The name of a secret or a key. */
export function nameField(description: string): z.ZodString {
  return z
    .string()
    .regex(VAULT_NAME, 'must be a letter, then up to 63 letters, digits, "_", "." or "-"')
    .refine(
      (name) => !name.startsWith(SIGN_INS),
      'must not begin with "mcp.": lango mcp login keeps such names',
    )
    .describe(description);
}
