import type { PaymentRequirements } from '@x402/core/types';
import { parseUnits } from '../../core/amount.js';
import type { Network } from './networks.js';

/** What a paid endpoint asks for, as far as this server could give it. */
export interface Offer {
  readonly amount: bigint;
  readonly payTo: string;
}

export interface Terms {
  readonly network: Network;
  readonly token: string;
  /** The words that the token's signatures are bound to (EIP-712). */
  readonly domain: { readonly name: string; readonly version: string };
}

/** What stands against paying it at all; undefined when nothing does. Everything in it is text from outside. */
export function objection(asked: PaymentRequirements, { network, token, domain }: Terms): string | undefined {
  const { name, version, assetTransferMethod = 'eip3009' } = asked.extra ?? {};
  if (asked.scheme !== 'exact') return `its scheme is ${quoted(asked.scheme)}, not "exact"`;
  if (asked.network !== network.caip)
    return `its network is ${quoted(asked.network)}, not ${quoted(network.caip)}`;
  if (!isSame(asked.asset, token)) return `its token is ${quoted(asked.asset)}, not USDC`;
  if (assetTransferMethod !== 'eip3009')
    return `its way of transfer is ${quoted(assetTransferMethod)}, not "eip3009"`;
  if (name !== domain.name || version !== domain.version)
    return 'it names another signing domain than the token does';
  if (parseUnits(asked.amount) === undefined) return `its amount is ${quoted(asked.amount)}`;
  return undefined;
}

export function offerOf({ amount, payTo }: PaymentRequirements): Offer {
  return { amount: parseUnits(amount)!, payTo };
}

export function isSame(left: string, right: string): boolean {
  return left.toLowerCase() === right.toLowerCase();
}

const LONGEST_QUOTE = 60;

function quoted(text: unknown): string {
  return JSON.stringify(String(text).slice(0, LONGEST_QUOTE));
}
