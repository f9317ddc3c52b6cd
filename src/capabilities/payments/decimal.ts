/** The form of an address. It does not check the checksum (EIP-55). */
export const ADDRESS = /^0x[0-9a-fA-F]{40}$/;

/** The decimal places of USDC. */
export const DECIMALS = 6;
/** The decimal places of the chain's own coin, which pays for gas. */
export const GAS_DECIMALS = 18;

/** At most 12 digits: more than exists of any such token. Sums stay far below what a database can count. */
const PATTERN = /^(\d{1,12})(?:\.(\d{1,18}))?$/;

/** Says why `text` is not an amount with at most `decimals` places; undefined when it is. Zero is an amount. */
export function amountProblem(text: string, decimals = DECIMALS): string | undefined {
  const match = PATTERN.exec(text);
  if (!match) {
    if (/^\d{13,}/.test(text)) return 'is too large: at most 12 digits before the point';
    return 'must be a plain decimal number such as "0.50": digits and at most one point, no sign, exponent or unit';
  }
  return (match[2] ?? '').length > decimals ? `has more than ${decimals} decimal places` : undefined;
}
