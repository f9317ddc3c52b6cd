import { defined } from '../core/json.js';
import { nameAtVendor, type ModelPrice } from '../core/model.js';

/** The day on which the figures below were read. Some come from copies of the vendors' lists, not from the vendors. */
export const PRICES_READ = '2026-11-26';
const PRICES_CURRENCY = 'USD';

/** The known facts about a model. A price that is absent could not be confirmed from a public source. */
interface KnownModel {
  /** In US dollars; `cacheWrite` is the price of the shortest lifetime. */
  readonly price?: ModelPrice;
  /** The most tokens of a request and its output together. */
  readonly windowTokens?: number;
}

const MILLION = 1_000_000;
/** The window of OpenAI's models since GPT-5.4, whose prices rise for long prompts. */
const LARGE = 1_050_000;
const LONG = { above: 272_000, input: 2, output: 1.5 };

const known = (price: ModelPrice, windowTokens?: number): KnownModel => ({
  price,
  ...defined({ windowTokens }),
});

/** The current models of the two native vendors, with their list prices of that day. */
const KNOWN_MODELS: Readonly<Record<string, KnownModel>> = {
  'claude-fable-5-2': known({ input: 8, output: 40, cacheRead: 0.2, cacheWrite: 10 }, MILLION),
  'claude-fable-5-1': known({ input: 10, output: 50, cacheRead: 0.25, cacheWrite: 12.5 }, MILLION),
  'claude-fable-5': known({ input: 10, output: 50, cacheRead: 1, cacheWrite: 12.5 }, MILLION),
  'claude-mythos-5-2': {},
  'claude-mythos-5-1': known({ input: 10, output: 50, cacheRead: 0.25, cacheWrite: 12.5 }, MILLION),
  'claude-mythos-5': known({ input: 10, output: 50, cacheRead: 1, cacheWrite: 12.5 }, MILLION),
  'claude-opus-5-5': known({ input: 4, output: 20, cacheRead: 0.2, cacheWrite: 5 }, MILLION),
  'claude-opus-5': known({ input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 }, MILLION),
  'claude-opus-4-8': known({ input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 }, MILLION),
  'claude-opus-4-7': known({ input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 }, MILLION),
  'claude-opus-4-6': known({ input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 }, MILLION),
  'claude-opus-4-5': known({ input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 }, 200_000),
  'claude-sonnet-5-5': known({ input: 2, output: 10, cacheRead: 0.1, cacheWrite: 2.5 }, MILLION),
  'claude-sonnet-5': known({ input: 2, output: 10, cacheRead: 0.2, cacheWrite: 2.5 }, MILLION),
  'claude-sonnet-4-6': known({ input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 }, MILLION),
  'claude-sonnet-4-5': known({ input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 }, 200_000),
  // The price of what it reads from the cache could not be confirmed, so that counts as other input.
  'claude-haiku-5-5': known(
    { input: 0.1, output: 0.5, cacheWrite: 0.125, long: { above: 100_000, input: 5, output: 5 } },
    MILLION,
  ),
  'claude-haiku-4-5': known({ input: 1, output: 5, cacheRead: 0.1, cacheWrite: 1.25 }, 200_000),
  'gpt-6.1-sol': known({ input: 2, output: 10, cacheRead: 0.1, cacheWrite: 2.5, long: LONG }, LARGE),
  'gpt-6.1-terra': known({ input: 1, output: 5, cacheRead: 0.05, cacheWrite: 1.25, long: LONG }, LARGE),
  'gpt-6-astra': known({ input: 10, output: 50, cacheRead: 1, cacheWrite: 12.5, long: LONG }, LARGE),
  'gpt-6-sol': known({ input: 2, output: 10, cacheRead: 0.2, cacheWrite: 2.5, long: LONG }),
  'gpt-5.6-sol': known({ input: 4, output: 20, cacheRead: 0.4, cacheWrite: 5, long: LONG }, LARGE),
  'gpt-5.5': known({ input: 5, output: 30, cacheRead: 0.5, long: LONG }, LARGE),
  'gpt-5.4': known({ input: 2.5, output: 15, cacheRead: 0.25, long: LONG }, LARGE),
  'gpt-5.4-mini': known({ input: 0.75, output: 4.5, cacheRead: 0.075 }, 400_000),
  'gpt-5.4-nano': known({ input: 0.2, output: 1.25, cacheRead: 0.02 }, 400_000),
  'gpt-5.2': known({ input: 1.75, output: 14, cacheRead: 0.175 }, 400_000),
  'gpt-5.1': known({ input: 1.25, output: 10, cacheRead: 0.125 }, 400_000),
  'gpt-5': known({ input: 1.25, output: 10, cacheRead: 0.125 }, 400_000),
  'gpt-5-mini': known({ input: 0.25, output: 2, cacheRead: 0.025 }, 400_000),
  'gpt-5-nano': known({ input: 0.05, output: 0.4, cacheRead: 0.005 }, 400_000),
  'gpt-4.1': known({ input: 2, output: 8, cacheRead: 0.5 }, 1_047_576),
  'gpt-4.1-mini': known({ input: 0.4, output: 1.6, cacheRead: 0.1 }, 1_047_576),
  'gpt-4o': known({ input: 2.5, output: 10, cacheRead: 1.25 }, 128_000),
  'gpt-4o-mini': known({ input: 0.15, output: 0.6, cacheRead: 0.075 }, 128_000),
  'text-embedding-3-large': known({ input: 0.13, output: 0 }),
  'text-embedding-3-small': known({ input: 0.02, output: 0 }),
};

/** Finds a model by its name at its vendor, with or without the date of its snapshot. */
function knownModel(name: string): KnownModel {
  return KNOWN_MODELS[name] ?? KNOWN_MODELS[name.replace(/-(\d{8}|\d{4}-\d\d-\d\d)$/, '')] ?? {};
}

/** The names of all models of the table. */
export const knownModelNames = (): readonly string[] => Object.keys(KNOWN_MODELS);

/** Finds the window of a model by its name at its vendor; undefined when it is not known. */
export const windowTokensOf = (name: string): number | undefined => knownModel(name).windowTokens;

interface PriceSettings {
  readonly bill: { readonly currency: string };
  /** The prices that the operator set, by the model's name at its vendor. */
  readonly prices: Readonly<Record<string, ModelPrice>>;
}

/** Finds the price of a model: the operator's, else the list price in its currency; undefined when neither is known. */
export function priceOf(model: string, { bill, prices }: PriceSettings): ModelPrice | undefined {
  if (model === 'offline') return { input: 0, output: 0 };
  const name = nameAtVendor(model);
  return prices[name] ?? (bill.currency === PRICES_CURRENCY ? knownModel(name).price : undefined);
}
