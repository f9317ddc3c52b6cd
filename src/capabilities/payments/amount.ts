import { z } from 'zod';

/** The form of an address. It does not check the checksum (EIP-55): `Connection.checksum` does, for payees. */
export const ADDRESS = z.string().regex(/^0x[0-9a-fA-F]{40}$/, 'must be an address: "0x" and 40 hex digits');

/** The decimal places of USDC. */
export const DECIMALS = 6;
/** The decimal places of the chain's own coin, which pays for gas. */
export const GAS_DECIMALS = 18;

/** At most 12 digits: more than exists of any such token. Sums stay far below what a database can count. */
const PATTERN = /^(\d{1,12})(?:\.(\d{1,18}))?$/;

/** A decimal number as a text, since numbers of JSON and YAML are floats. `problemOf` says why a text is refused. */
export function amountText(problemOf: (text: string) => string | undefined): z.ZodString {
  return z.string().superRefine((text, context) => {
    const problem = problemOf(text);
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
  });
}

/** Says why `text` is not an amount with at most `decimals` places; undefined when it is. Zero is an amount. */
export function amountProblem(text: string, decimals = DECIMALS): string | undefined {
  const match = PATTERN.exec(text);
  if (!match) {
    if (/^\d{13,}/.test(text)) return 'is too large: at most 12 digits before the point';
    return 'must be a plain decimal number such as "0.50": digits and at most one point, no sign, exponent or unit';
  }
  return (match[2] ?? '').length > decimals ? `has more than ${decimals} decimal places` : undefined;
}

/** "0.50 USDC", "12.345678 USDC": with two decimal places at least. */
export function usdc(units: bigint): string {
  return `${formatAmount(units, DECIMALS)} USDC`;
}

export function eth(wei: bigint): string {
  return `${formatAmount(wei, GAS_DECIMALS)} ETH`;
}

function formatAmount(units: bigint, decimals: number): string {
  const digits = units.toString().padStart(decimals + 1, '0');
  const fraction = digits.slice(-decimals).replace(/0+$/, '').padEnd(2, '0');
  return `${digits.slice(0, -decimals)}.${fraction}`;
}

/** Converts an amount to the smallest unit. Call it only for a text without an `amountProblem`. */
export function toUnits(text: string, decimals = DECIMALS): bigint {
  const [whole, fraction = ''] = text.split('.');
  return BigInt(`${whole}${fraction.padEnd(decimals, '0')}`);
}
