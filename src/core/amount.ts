/** The form of an address. It does not check the checksum (EIP-55). */
export const ADDRESS = /^0x[0-9a-fA-F]{40}$/;

/** The decimal places of USDC. */
export const DECIMALS = 6;
/** The decimal places of the chain's own coin, which pays for gas. */
export const GAS_DECIMALS = 18;

/** More than exists of any such token. Sums stay far below what a database can count. */
const MAX_WHOLE_DIGITS = 12;
const PATTERN = /^(\d{1,12})(?:\.(\d{1,18}))?$/;

/** Says why `text` is not an amount with at most `decimals` places; undefined when it is. Zero is an amount. */
export function amountProblem(text: string, decimals = DECIMALS): string | undefined {
  const match = PATTERN.exec(text);
  if (!match) {
    if (/^\d{13,}/.test(text)) return `is too large: at most ${MAX_WHOLE_DIGITS} digits before the point`;
    return 'must be a plain decimal number such as "0.50": digits and at most one point, no sign, exponent or unit';
  }
  if ((match[2] ?? '').length > decimals) return `has more than ${decimals} decimal places`;
  return undefined;
}

/** Converts an amount to the smallest unit. Call it only for a text without an `amountProblem`. */
export function toUnits(text: string, decimals = DECIMALS): bigint {
  const [whole, fraction = ''] = text.split('.');
  return BigInt(`${whole}${fraction.padEnd(decimals, '0')}`);
}
