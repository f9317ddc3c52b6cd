/** The price of a million tokens, in US dollars. */
interface Price {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
  /** A prompt of more than `above` tokens multiplies the prices by these factors. */
  readonly long?: { readonly above: number; readonly input: number; readonly output: number };
}

/** The day on which the prices below were read. Some come from copies of the vendors' lists, not from the vendors. */
export const PRICES_READ = '2026-11-23';
export const PRICES_CURRENCY = 'USD';

const GPT_6_LONG = { above: 272_000, input: 2, output: 1.5 };

/** The vendors' list prices of that day. `cacheWrite` is the price of the shortest lifetime. */
export const KNOWN_PRICES: Readonly<Record<string, Price>> = {
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
