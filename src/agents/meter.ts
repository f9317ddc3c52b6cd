import type { AgentLimits } from '../core/agent.js';
import type { ModelAnswer, ModelMessage, ModelRequest, Usage } from '../core/model.js';
import type { Run, RunEnd } from '../core/run.js';
import type { Money } from '../core/task.js';
import { estimateTokens } from '../core/text.js';

/** The price of a million tokens. Tokens of a cache cost as much as other input, unless they have a price. */
interface Price {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number | undefined;
  readonly cacheWrite?: number | undefined;
  /** What a prompt of more tokens than `above` multiplies the prices by. */
  readonly long?: { readonly above: number; readonly input: number; readonly output: number } | undefined;
}

/** The price of an agent's model, and the names of node and model on bills. */
export interface Meter {
  readonly node: string;
  readonly model: string;
  readonly currency: string;
  /** Undefined when the price is not known: tokens are counted, money is not. */
  readonly price: Price | undefined;
  /** Of the models that may answer in its place. */
  readonly fallbacks?: readonly Meter[];
}

interface Spending {
  readonly run: Run;
  readonly limits: AgentLimits;
  readonly meter: Meter | undefined;
}

const MILLION = 1_000_000;
const BILLION = 1_000_000_000;
/** An answer that can afford fewer tokens is not asked for. */
const LEAST_ANSWER_TOKENS = 256;

/** Returns the answer with a row for its bill. */
export function billed({ by, ...answer }: ModelAnswer, { run, meter: asked }: Spending): ModelAnswer {
  const meter = asked?.fallbacks?.find(({ model }) => model === by) ?? asked;
  if (!meter) return answer;
  const { node, model, currency, price } = meter;
  const { rows: _, ...tokens } = answer.usage;
  const cost = price && { cost: costOf(price, tokens) };
  const row = { node, agent: run.task.agent, model, currency, ...tokens, ...cost };
  return { ...answer, usage: { ...tokens, rows: [row] } };
}

function costOf(price: Price, { input, output, cached, written = 0 }: Usage): number {
  const { cacheRead = price.input, cacheWrite = price.input } = price;
  const plain = Math.max(0, input - cached - written);
  const factor = factorOf(price, input);
  const read = (plain * price.input + cached * cacheRead + written * cacheWrite) * factor.input;
  return toBillionths((read + output * price.output * factor.output) / MILLION);
}

function factorOf({ long }: Price, input: number): { readonly input: number; readonly output: number } {
  return long && input > long.above ? long : { input: 1, output: 1 };
}

/** The money that the task may still cost; undefined without a limit. */
export function moneyLeft(run: Run, limits: AgentLimits): Money | undefined {
  // The grant of a task has the limit of its node already.
  const limit = run.grant.cost ?? limits.cost;
  if (!limit) return undefined;
  const rows = (run.usage().rows ?? []).filter(({ currency }) => currency === limit.currency);
  const spent = rows.reduce((sum, { cost = 0 }) => sum + cost, 0);
  return { ...limit, amount: toBillionths(limit.amount - spent) };
}

/** Returns an equal share of money, rounded down. */
export function shareOf({ amount, currency }: Money, sharedBy: number): Money {
  return { amount: Math.max(0, Math.floor((amount * BILLION) / sharedBy) / BILLION), currency };
}

function toBillionths(amount: number): number {
  return Math.round(amount * BILLION) / BILLION;
}

/**
 * Reserves the money for a model call: its estimated input, and the longest answer that the rest can pay, whichever model
 * answers. Returns the request with that length, or the end of the task when the money does not suffice.
 */
export function withinBudget(
  spending: Spending & { readonly request: Omit<ModelRequest, 'signal'> },
): Omit<ModelRequest, 'signal'> | RunEnd {
  const { run, limits, meter, request } = spending;
  const left = moneyLeft(run, limits);
  if (!left || !meter) return request;
  const input = estimateInput(request);
  let { maxTokens } = request;
  for (const { price, model, currency } of [meter, ...(meter.fallbacks ?? [])]) {
    if (!price || currency !== left.currency) {
      return ended(`the price of ${model} in ${left.currency} is not known here (prices, bill.currency)`);
    }
    const affordable = affordableTokens(price, input, left.amount);
    if (affordable < Math.min(LEAST_ANSWER_TOKENS, maxTokens)) {
      const rest = Math.max(0, left.amount).toFixed(4);
      return ended(
        `the ${rest} ${currency} that are left of its money do not pay for another answer of ${model}`,
      );
    }
    maxTokens = Math.min(maxTokens, affordable);
  }
  return { ...request, maxTokens };
}

const MESSAGE_TOKENS = new WeakMap<ModelMessage, number>();

/** Estimates each message once, however many calls it is a part of: a long conversation is not serialized for each call. */
function estimateInput({ system, messages, functions }: Omit<ModelRequest, 'signal'>): number {
  return messages.reduce(
    (sum, message) => {
      const tokens = MESSAGE_TOKENS.get(message) ?? estimateTokens(JSON.stringify(message));
      MESSAGE_TOKENS.set(message, tokens);
      return sum + tokens;
    },
    estimateTokens(JSON.stringify([system, functions])),
  );
}

/** The tokens of an answer that the money pays for after a prompt of `input` tokens. */
function affordableTokens(price: Price, input: number, amount: number): number {
  const factor = factorOf(price, input);
  const inputCost = (input * factor.input * Math.max(price.input, price.cacheWrite ?? 0)) / MILLION;
  if (price.output === 0) return amount >= inputCost ? Infinity : 0;
  return Math.floor(((amount - inputCost) * MILLION) / (price.output * factor.output));
}

function ended(why: string): RunEnd {
  const text = `Stopped: this task has a limit of cost (agent.limits.cost), and ${why}.`;
  return { state: 'failed', reason: 'limit-cost', text };
}
