import { nameAtVendor, type ModelPrice } from '../core/model.js';

/** The day on which the prices below were read. Some come from copies of the vendors' lists, not from the vendors. */
export const PRICES_READ = '2026-11-23';
const PRICES_CURRENCY = 'USD';

const GPT_6_LONG = { above: 272_000, input: 2, output: 1.5 };

/** The vendors' list prices of that day, in US dollars. `cacheWrite` is the price of the shortest lifetime. */
const KNOWN_PRICES: Readonly<Record<string, ModelPrice>> = {
  'claude-fable-5-1': { input: 10, output: 50, cacheRead: 0.25, cacheWrite: 12.5 },
  'claude-opus-5-5': { input: 4, output: 20, cacheRead: 0.2, cacheWrite: 5 },
  'claude-opus-5': { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 },
  'claude-sonnet-5-5': { input: 2, output: 10, cacheRead: 0.1, cacheWrite: 2.5 },
  'claude-sonnet-5': { input: 2, output: 10, cacheRead: 0.2, cacheWrite: 2.5 },
  'claude-haiku-4-5': { input: 1, output: 5, cacheRead: 0.1, cacheWrite: 1.25 },
  'gpt-6.1-sol': { input: 2, output: 10, cacheRead: 0.1, cacheWrite: 2.5, long: GPT_6_LONG },
  'gpt-6.1-terra': { input: 1, output: 5, cacheRead: 0.05, cacheWrite: 1.25, long: GPT_6_LONG },
  'gpt-6-sol': { input: 2, output: 10, cacheRead: 0.2, cacheWrite: 2.5, long: GPT_6_LONG },
  'gpt-5': { input: 1.25, output: 10, cacheRead: 0.125 },
  'text-embedding-3-large': { input: 0.13, output: 0 },
  'text-embedding-3-small': { input: 0.02, output: 0 },
};

interface PriceSettings {
  readonly bill: { readonly currency: string };
  /** The prices that the operator set, by the model's name at its vendor. */
  readonly prices: Readonly<Record<string, ModelPrice>>;
}

/** Finds the price of a model: the operator's, else the list price in its currency; undefined when neither is known. */
export function priceOf(model: string, { bill, prices }: PriceSettings): ModelPrice | undefined {
  if (model === 'offline') return { input: 0, output: 0 };
  const name = nameAtVendor(model);
  return prices[name] ?? (bill.currency === PRICES_CURRENCY ? KNOWN_PRICES[name] : undefined);
}
