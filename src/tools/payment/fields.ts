import { z } from 'zod';
import { amountProblem, toUnits } from '../../core/amount.js';
import { ADDRESS } from '../../core/payment.js';

/** A decimal string of USDC that is more than zero. */
export function amountField(description: string): z.ZodString {
  return z
    .string()
    .superRefine((text, context) => {
      const problem = amountProblem(text) ?? (toUnits(text) === 0n ? 'must be more than zero' : undefined);
      if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
    })
    .describe(description);
}

/** The form of an address; its checksum is looked at when it is used. */
export function addressField(description: string): z.ZodString {
  return z.string().regex(ADDRESS, 'must be an address: "0x" and 40 hex digits').describe(description);
}
