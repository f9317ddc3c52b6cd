import { DECIMALS, GAS_DECIMALS } from './decimal.js';

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
