import { z } from 'zod';

/** A text of a tool's input, as it is given. It is not empty. */
export function exactField(description: string, maxLength: number): z.ZodString {
  return z.string().min(1).max(maxLength).describe(description);
}

/** A text of a tool's input, without white space at its ends. It is neither empty nor blank. */
export function textField(description: string, maxLength: number): z.ZodString {
  return z.string().trim().min(1).max(maxLength).describe(description);
}

/** A number that a call may leave out, from 1 to `most`, such as the number of results. */
export function countField(description: string, most: number): z.ZodOptional<z.ZodInt> {
  return z.int().min(1).max(most).describe(description).optional();
}
