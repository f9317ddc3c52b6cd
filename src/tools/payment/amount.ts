import { DECIMALS, GAS_DECIMALS, amountProblem, toUnits } from '../../core/amount.js';
import { LangoError } from '../../core/errors.js';

/** An amount in the smallest unit. Throws `invalid-input` that names `field`; zero is refused. */
export function parseAmount(text: string, field = 'amount'): bigint {
  const problem = amountProblem(text);
  if (problem !== undefined)
    throw new LangoError('invalid-input', `${field}: "${text.slice(0, 60)}" ${problem}.`);
  const units = toUnits(text);
  if (units === 0n) throw new LangoError('invalid-input', `${field}: must be more than zero.`);
  return units;
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
