import { LangoError } from './errors.js';

/** USDC counts in millionths. */
export const DECIMALS = 6;
/** Gas is paid in the chain's own coin, which counts in 10^-18. */
export const GAS_DECIMALS = 18;

/** More than there is of any such token; it keeps sums far from what a database can count. */
const MOST_WHOLE_DIGITS = 12;
const PATTERN = /^(\d{1,12})(?:\.(\d{1,18}))?$/;

/** Why `text` is no amount of `decimals` places; undefined when it is one. Zero is one. */
export function amountProblem(text: string, decimals = DECIMALS): string | undefined {
  const match = PATTERN.exec(text);
  if (!match) {
    if (/^\d{13,}/.test(text)) return `is too large: at most ${MOST_WHOLE_DIGITS} digits before the point`;
    return 'must be a plain decimal number such as "0.50": digits and at most one point, no sign, exponent or unit';
  }
  if ((match[2] ?? '').length > decimals) return `has more than ${decimals} decimal places`;
  return undefined;
}

/** An amount in the smallest unit. Throws `invalid-input` that names `field`; zero is refused. */
export function parseAmount(text: string, field = 'amount'): bigint {
  const problem = amountProblem(text);
  if (problem !== undefined)
    throw new LangoError('invalid-input', `${field}: "${text.slice(0, 60)}" ${problem}.`);
  const units = toUnits(text);
  if (units === 0n) throw new LangoError('invalid-input', `${field}: must be more than zero.`);
  return units;
}

/** For a text without an `amountProblem`. */
export function toUnits(text: string, decimals = DECIMALS): bigint {
  const [whole, fraction = ''] = text.split('.');
  return BigInt(`${whole}${fraction.padEnd(decimals, '0')}`);
}

/** An amount that is given in the smallest unit: digits only. Undefined for anything else, and for zero. */
export function parseUnits(text: string): bigint | undefined {
  return /^[1-9]\d{0,17}$/.test(text) ? BigInt(text) : undefined;
}

/** "0.50", "12.345678": as money is written, with two decimal places at least. */
function formatAmount(units: bigint, decimals = DECIMALS): string {
  const digits = units.toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, -decimals);
  const fraction = digits.slice(-decimals).replace(/0+$/, '').padEnd(2, '0');
  return `${whole}.${fraction}`;
}

export function usdc(units: bigint): string {
  return `${formatAmount(units)} USDC`;
}

export function eth(wei: bigint): string {
  return `${formatAmount(wei, GAS_DECIMALS)} ETH`;
}
