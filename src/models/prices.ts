import { nameAtVendor, type ModelPrice } from '../core/model.js';

/** The day on which the figures below were read. Some come from copies of the vendors' lists, not from the vendors. */
export const PRICES_READ = '2026-11-26';
const PRICES_CURRENCY = 'USD';

/**
 * The known facts about a model: the most tokens of a request and its output together, and its price in US dollars, with
 * the `cacheWrite` of the shortest lifetime. What is absent could not be confirmed from a public source.
 */
type KnownModel = readonly [windowTokens?: number | undefined, price?: ModelPrice];

const MILLION = 1_000_000;
/** The window of OpenAI's models since GPT-5.4, whose prices rise for long prompts. */
const LARGE = 1_050_000;
const LONG = { above: 272_000, input: 2, output: 1.5 };

/** The current models of the two native vendors, with their list prices of that day. */
const KNOWN_MODELS: Readonly<Record<string, KnownModel>> = {
  'claude-fable-5-2': [MILLION, { input: 8, output: 40, cacheRead: 0.2, cacheWrite: 10 }],
  'claude-fable-5-1': [MILLION, { input: 10, output: 50, cacheRead: 0.25, cacheWrite: 12.5 }],
  'claude-fable-5': [MILLION, { input: 10, output: 50, cacheRead: 1, cacheWrite: 12.5 }],
  'claude-mythos-5-2': [],
  'claude-mythos-5-1': [MILLION, { input: 10, output: 50, cacheRead: 0.25, cacheWrite: 12.5 }],
  'claude-mythos-5': [MILLION, { input: 10, output: 50, cacheRead: 1, cacheWrite: 12.5 }],
  'claude-opus-5-5': [MILLION, { input: 4, output: 20, cacheRead: 0.2, cacheWrite: 5 }],
  'claude-opus-5': [MILLION, { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 }],
  'claude-opus-4-8': [MILLION, { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 }],
  'claude-opus-4-7': [MILLION, { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 }],
  'claude-opus-4-6': [MILLION, { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 }],
  'claude-opus-4-5': [200_000, { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 }],
  'claude-sonnet-5-5': [MILLION, { input: 2, output: 10, cacheRead: 0.1, cacheWrite: 2.5 }],
  'claude-sonnet-5': [MILLION, { input: 2, output: 10, cacheRead: 0.2, cacheWrite: 2.5 }],
  'claude-sonnet-4-6': [MILLION, { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 }],
  'claude-sonnet-4-5': [200_000, { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 }],
  // The price of what it reads from the cache could not be confirmed, so that counts as other input.
  'claude-haiku-5-5': [
    MILLION,
    { input: 0.1, output: 0.5, cacheWrite: 0.125, long: { above: 100_000, input: 5, output: 5 } },
  ],
  'claude-haiku-4-5': [200_000, { input: 1, output: 5, cacheRead: 0.1, cacheWrite: 1.25 }],
  'gpt-6.1-sol': [LARGE, { input: 2, output: 10, cacheRead: 0.1, cacheWrite: 2.5, long: LONG }],
  'gpt-6.1-terra': [LARGE, { input: 1, output: 5, cacheRead: 0.05, cacheWrite: 1.25, long: LONG }],
  'gpt-6-astra': [LARGE, { input: 10, output: 50, cacheRead: 1, cacheWrite: 12.5, long: LONG }],
  'gpt-6-sol': [undefined, { input: 2, output: 10, cacheRead: 0.2, cacheWrite: 2.5, long: LONG }],
  'gpt-5.6-sol': [LARGE, { input: 4, output: 20, cacheRead: 0.4, cacheWrite: 5, long: LONG }],
  'gpt-5.5': [LARGE, { input: 5, output: 30, cacheRead: 0.5, long: LONG }],
  'gpt-5.4': [LARGE, { input: 2.5, output: 15, cacheRead: 0.25, long: LONG }],
  'gpt-5.4-mini': [400_000, { input: 0.75, output: 4.5, cacheRead: 0.075 }],
  'gpt-5.4-nano': [400_000, { input: 0.2, output: 1.25, cacheRead: 0.02 }],
  'gpt-5.2': [400_000, { input: 1.75, output: 14, cacheRead: 0.175 }],
  'gpt-5.1': [400_000, { input: 1.25, output: 10, cacheRead: 0.125 }],
  'gpt-5': [400_000, { input: 1.25, output: 10, cacheRead: 0.125 }],
  'gpt-5-mini': [400_000, { input: 0.25, output: 2, cacheRead: 0.025 }],
  'gpt-5-nano': [400_000, { input: 0.05, output: 0.4, cacheRead: 0.005 }],
  'gpt-4.1': [1_047_576, { input: 2, output: 8, cacheRead: 0.5 }],
  'gpt-4.1-mini': [1_047_576, { input: 0.4, output: 1.6, cacheRead: 0.1 }],
  'gpt-4o': [128_000, { input: 2.5, output: 10, cacheRead: 1.25 }],
  'gpt-4o-mini': [128_000, { input: 0.15, output: 0.6, cacheRead: 0.075 }],
  'text-embedding-3-large': [undefined, { input: 0.13, output: 0 }],
  'text-embedding-3-small': [undefined, { input: 0.02, output: 0 }],
};

/** Finds a model by its name at its vendor, with or without the date of its snapshot. */
function knownModel(name: string): KnownModel {
  return KNOWN_MODELS[name] ?? KNOWN_MODELS[name.replace(/-(\d{8}|\d{4}-\d\d-\d\d)$/, '')] ?? [];
}

/** The names of all models of the table. */
export const knownModelNames = (): readonly string[] => Object.keys(KNOWN_MODELS);

/** Finds the window of a model by its name at its vendor; undefined when it is not known. */
export const windowTokensOf = (name: string): number | undefined => knownModel(name)[0];

interface PriceSettings {
  readonly bill: { readonly currency: string };
  /** The prices that the operator set, by the model's name at its vendor. */
  readonly prices: Readonly<Record<string, ModelPrice>>;
}

/** Finds the price of a model: the operator's, else the list price in its currency; undefined when neither is known. */
export function priceOf(model: string, { bill, prices }: PriceSettings): ModelPrice | undefined {
  if (model === 'offline') return { input: 0, output: 0 };
  const name = nameAtVendor(model);
  return prices[name] ?? (bill.currency === PRICES_CURRENCY ? knownModel(name)[1] : undefined);
}
