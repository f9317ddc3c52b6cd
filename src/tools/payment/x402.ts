import type { PaymentRequirements } from '@x402/core/types';
import { z } from 'zod';
import { parseUnits } from './amount.js';
import { LangoError } from '../../core/errors.js';
import type { Hex } from './connection.js';
import type { Network } from './networks.js';

/** The offer of a paid endpoint, as far as this server supports it. */
export interface Offer {
  readonly amount: bigint;
  readonly payTo: string;
}

export interface PayableTerms {
  readonly network: Network;
  readonly token: string;
  /** The EIP-712 domain that the token's signatures are bound to. */
  readonly domain: { readonly name: string; readonly version: string };
}

/** Returns why an offer cannot be paid at all, or undefined. All fields of the offer are untrusted. */
export function whyNotPayable(
  requirements: PaymentRequirements,
  { network, token, domain }: PayableTerms,
): string | undefined {
  const { name, version, assetTransferMethod = 'eip3009' } = requirements.extra ?? {};
  if (requirements.scheme !== 'exact') return `its scheme is ${quoted(requirements.scheme)}, not "exact"`;
  if (requirements.network !== network.caip)
    return `its network is ${quoted(requirements.network)}, not ${quoted(network.caip)}`;
  if (!isSameAddress(requirements.asset, token))
    return `its token is ${quoted(requirements.asset)}, not USDC`;
  if (assetTransferMethod !== 'eip3009')
    return `its transfer method is ${quoted(assetTransferMethod)}, not "eip3009"`;
  if (name !== domain.name || version !== domain.version)
    return 'its signing domain differs from that of the token';
  if (parseUnits(requirements.amount) === undefined) return `its amount is ${quoted(requirements.amount)}`;
  return undefined;
}

export function offerOf({ amount, payTo }: PaymentRequirements): Offer {
  return { amount: parseUnits(amount)!, payTo };
}

export function isSameAddress(left: string, right: string): boolean {
  return left.toLowerCase() === right.toLowerCase();
}

const LONGEST_QUOTE = 60;

function quoted(text: unknown): string {
  return JSON.stringify(String(text).slice(0, LONGEST_QUOTE));
}

/** An authorization to transfer an exact amount, once, within a time (EIP-3009). */
export interface Authorization {
  readonly from: Hex;
  readonly to: Hex;
  readonly value: string;
  readonly validAfter: string;
  /** Seconds since the epoch, by the clock of the chain. */
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

/** A signed x402 payment, as it is stored. */
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
