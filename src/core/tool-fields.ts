import { z } from 'zod';

/** An argument of a tool: a text as it is given. It is not empty. */
export function exactField(description: string, maxLength: number): z.ZodString {
  return z.string().min(1).max(maxLength).describe(description);
}

/** An argument of a tool: a text that is neither empty nor blank. White space around it is removed. */
export function textField(description: string, maxLength: number): z.ZodString {
  return z.string().trim().min(1).max(maxLength).describe(description);
}

/** An argument of a tool: a whole number from 1 to `max`, which a call may leave out. */
export function limitField(description: string, max: number): z.ZodOptional<z.ZodInt> {
  return z.int().min(1).max(max).optional().describe(description);
}
