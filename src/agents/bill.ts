import { NO_USAGE, addUsage, type ModelRequest } from '../core/model.js';
import type { ModelPrice, SpentUsage, Usage } from '../core/model.js';
import type { Money } from '../core/task.js';
import { tokensIn } from '../core/text.js';

/** The price of an agent's model, and the names of node and model on bills. */
export interface Meter {
  readonly node: string;
  readonly model: string;
  readonly currency: string;
  /** Undefined when the price is not known: tokens are counted, money is not. */
  readonly price: ModelPrice | undefined;
  /** The meters of models that may answer in place of this one. */
  readonly fallbacks?: readonly Meter[];
}

export type Request = Omit<ModelRequest, 'signal'>;

const MILLION = 1_000_000;
const BILLION = 1_000_000_000;
/** The model is not called when the money pays for a shorter output than this. */
const MIN_OUTPUT_TOKENS = 256;

/** Returns the sum of the usages, with their rows on a bill. */
export function toBill(asked: Meter, agent: string, spent: readonly SpentUsage[]): Usage {
  const billed = spent.map(({ by, usage }): Usage => {
    const { node, model, currency, price } = asked.fallbacks?.find(({ model }) => model === by) ?? asked;
    const { rows: _, ...tokens } = usage;
    const cost = price && { cost: costOf(price, tokens) };
    return { ...tokens, rows: [{ node, agent, model, currency, ...tokens, ...cost }] };
  });
  return sumOf(billed);
}

export function sumOf([first = NO_USAGE, ...others]: readonly Usage[]): Usage {
  return others.reduce((sum, usage) => addUsage(sum, usage), first);
}

function costOf(price: ModelPrice, { input, output, cached, written = 0 }: Usage): number {
  const { cacheRead = price.input, cacheWrite = price.input } = price;
  const plain = Math.max(0, input - cached - written);
  const factor = factorOf(price, input);
  const read = (plain * price.input + cached * cacheRead + written * cacheWrite) * factor.input;
  return toBillionths((read + output * price.output * factor.output) / MILLION);
}

function factorOf({ long }: ModelPrice, input: number): { readonly input: number; readonly output: number } {
  return long && input > long.above ? long : { input: 1, output: 1 };
}

/** The money of a bill in one currency. */
export function moneySpent({ rows = [] }: Usage, currency: string): number {
  const counted = rows.filter((row) => row.currency === currency);
  return counted.reduce((sum, { cost = 0 }) => sum + cost, 0);
}

/** Returns what is left of `limit` after the costs on a bill. Negative when the bill is higher. */
export function moneyLeft(limit: Money, usage: Usage): Money {
  return { ...limit, amount: toBillionths(limit.amount - moneySpent(usage, limit.currency)) };
}

/** Returns an equal share of money, rounded down. */
export function shareOf({ amount, currency }: Money, sharedBy: number): Money {
  return { amount: Math.max(0, Math.floor((amount * BILLION) / sharedBy) / BILLION), currency };
}

function toBillionths(amount: number): number {
  return Math.round(amount * BILLION) / BILLION;
}

/** Shortens the output to what the money pays for, also of a fallback. Returns the reason when it pays for none. */
export function withinAmount(meter: Meter, request: Request, left: Money): Request | string {
  const input = estimateInput(request);
  let { maxTokens } = request;
  for (const { price, model, currency } of [meter, ...(meter.fallbacks ?? [])]) {
    if (!price || currency !== left.currency)
      return `the price of ${model} in ${left.currency} is not known here (prices, bill.currency)`;
    const tokens = affordableTokens(price, input, left.amount);
    if (tokens < Math.min(MIN_OUTPUT_TOKENS, maxTokens)) {
      const rest = Math.max(0, left.amount).toFixed(4);
      return `the ${rest} ${currency} that are left do not pay for another answer of ${model}`;
    }
    maxTokens = Math.min(maxTokens, tokens);
  }
  return { ...request, maxTokens };
}

/** The most that a call may cost, by its estimated input and its longest output, with the dearest of the models. */
export function estimatedCost(meter: Meter, request: Request): number {
  const input = estimateInput(request);
  const costs = [meter, ...(meter.fallbacks ?? [])].map(({ price }) => {
    if (!price) return 0;
    return (inputPrice(price, input) + request.maxTokens * outputPrice(price, input)) / MILLION;
  });
  return Math.max(...costs);
}

/** The tokens of output that the money pays for after a prompt of `input` tokens. */
function affordableTokens(price: ModelPrice, input: number, amount: number): number {
  const inputCost = inputPrice(price, input) / MILLION;
  if (price.output === 0) return amount >= inputCost ? Infinity : 0;
  return Math.floor(((amount - inputCost) * MILLION) / outputPrice(price, input));
}

/** The price of a million prompts of `input` tokens, all of them written to a cache if that costs more. */
function inputPrice(price: ModelPrice, input: number): number {
  return input * factorOf(price, input).input * Math.max(price.input, price.cacheWrite ?? 0);
}

/** The price of a million tokens of output for a prompt of `input` tokens. */
function outputPrice(price: ModelPrice, input: number): number {
  return price.output * factorOf(price, input).output;
}

const estimateInput = ({ system, messages, functions }: Request): number =>
  tokensIn(messages) + tokensIn([...system, ...functions]);
