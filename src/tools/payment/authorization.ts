import { z } from 'zod';
import { LangoError } from '../../core/errors.js';
import type { Hex } from './connection.js';

/** A permission to take an exact amount, once, within a time (EIP-3009). */
export interface Authorization {
  readonly from: Hex;
  readonly to: Hex;
  readonly value: string;
  readonly validAfter: string;
  /** Seconds since the epoch, of the chain's clock. */
  readonly validBefore: string;
  readonly nonce: Hex;
}

const hex = z.templateLiteral(['0x', z.string()]);
const digits = z.string().regex(/^\d{1,78}$/);
const storedForm = z.object({
  authorization: z.object({
    from: hex,
    to: hex,
    value: digits,
    validAfter: digits,
    validBefore: digits,
    nonce: hex,
  }),
  signature: hex,
});

/** The signed form of an x402 payment, as it is stored. */
export interface SignedAuthorization {
  readonly authorization: Authorization;
  readonly signature: Hex;
}

export function readSigned(signed: string): SignedAuthorization {
  try {
    return storedForm.parse(JSON.parse(signed));
  } catch (cause) {
    throw new LangoError('storage', 'The stored authorization of a payment is damaged.', { cause });
  }
}

export function authorizationOf(signed: string): Authorization {
  return readSigned(signed).authorization;
}
