import type { AgentLimits } from '../core/agent.js';
import { addUsage, NO_USAGE, type ModelAnswer, type ModelMessage, type ModelRequest } from '../core/model.js';
import type { SpentUsage, Usage } from '../core/model.js';
import type { Run, RunEnd } from '../core/run.js';
import type { Money } from '../core/task.js';
import { estimateTokens } from '../core/text.js';

/** The price of a million tokens. Tokens of a cache cost as much as other input, unless they have a price. */
interface Price {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number | undefined;
  readonly cacheWrite?: number | undefined;
  /** Factors on the prices of input and output when the prompt has more tokens than `above`. */
  readonly long?: { readonly above: number; readonly input: number; readonly output: number } | undefined;
}

/** The price of an agent's model, and the names of node and model on bills. */
export interface Meter {
  readonly node: string;
  readonly model: string;
  readonly currency: string;
  /** Undefined when the price is not known: tokens are counted, money is not. */
  readonly price: Price | undefined;
  /** The meters of models that may answer in place of this one. */
  readonly fallbacks?: readonly Meter[];
}

/** The run that spends, with its limits and its prices. */
export interface Spending {
  readonly run: Run;
  readonly limits: AgentLimits;
  readonly meter: Meter | undefined;
}

const MILLION = 1_000_000;
const BILLION = 1_000_000_000;
/** The model is not called when the money pays for a shorter answer than this. */
const MIN_ANSWER_TOKENS = 256;

/** Returns the answer with the rows of its bill: those of the answer, and those of attempts that failed before it. */
export function billed({ by, failed = [], ...answer }: ModelAnswer, spending: Spending): ModelAnswer {
  const own = priced({ by, usage: answer.usage }, spending);
  return { ...answer, usage: failed.reduce((sum, spent) => addUsage(sum, priced(spent, spending)), own) };
}

/** Puts the cost of failed attempts on the bill of the task, when no answer follows that would hold it. */
export function chargeFailed(failed: readonly SpentUsage[], spending: Spending): void {
  const usage = failed.reduce((sum, spent) => addUsage(sum, priced(spent, spending)), NO_USAGE);
  if (failed.length > 0) spending.run.charge(usage);
}

interface Priced extends Omit<SpentUsage, 'by'> {
  readonly by?: string | undefined;
}

function priced({ by, usage }: Priced, { run, meter }: Pick<Spending, 'run' | 'meter'>): Usage {
  return meter ? toBill(meter, run.task.agent, { by, usage }) : usage;
}

/** Returns the usage with its row on a bill. */
export function toBill(asked: Meter, agent: string, { by, usage }: Priced): Usage {
  const { node, model, currency, price } = asked.fallbacks?.find(({ model }) => model === by) ?? asked;
  const { rows: _, ...tokens } = usage;
  const cost = price && { cost: costOf(price, tokens) };
  return { ...tokens, rows: [{ node, agent, model, currency, ...tokens, ...cost }] };
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

/** The money that the task may still spend; undefined without a limit. */
export function moneyLeft(run: Run, limits: AgentLimits): Money | undefined {
  // The grant of a task has the limit of its node already.
  const limit = run.grant.cost ?? limits.cost;
  if (!limit) return undefined;
  return { ...limit, amount: toBillionths(limit.amount - moneySpent(run.usage(), limit.currency)) };
}

/** The money of a bill in one currency. */
export function moneySpent({ rows = [] }: Usage, currency: string): number {
  const counted = rows.filter((row) => row.currency === currency);
  return counted.reduce((sum, { cost = 0 }) => sum + cost, 0);
}

/** Returns an equal share of money, rounded down. */
export function shareOf({ amount, currency }: Money, sharedBy: number): Money {
  return { amount: Math.max(0, Math.floor((amount * BILLION) / sharedBy) / BILLION), currency };
}

function toBillionths(amount: number): number {
  return Math.round(amount * BILLION) / BILLION;
}

/**
 * Shortens the answer to what the rest of the task's money pays for, also when a fallback answers. Returns the end of the
 * task when the money does not suffice.
 */
export function withinBudget(
  spending: Spending & { readonly request: Omit<ModelRequest, 'signal'> },
): Omit<ModelRequest, 'signal'> | RunEnd {
  const { run, limits, request } = spending;
  const left = moneyLeft(run, limits);
  if (!left) return request;
  const affordable = withinAmount(spending, request, left);
  return typeof affordable === 'string' ? ended(affordable) : affordable;
}

/** Shortens the answer to what the money pays for besides the estimated input; returns the reason when it pays for none. */
export function withinAmount(
  { meter }: Pick<Spending, 'meter'>,
  request: Omit<ModelRequest, 'signal'>,
  left: Money,
): Omit<ModelRequest, 'signal'> | string {
  if (!meter) return request;
  const input = estimateInput(request);
  let { maxTokens } = request;
  for (const { price, model, currency } of [meter, ...(meter.fallbacks ?? [])]) {
    if (!price || currency !== left.currency) {
      return `the price of ${model} in ${left.currency} is not known here (prices, bill.currency)`;
    }
    const tokens = affordableTokens(price, input, left.amount);
    if (tokens < Math.min(MIN_ANSWER_TOKENS, maxTokens)) {
      const rest = Math.max(0, left.amount).toFixed(4);
      return `the ${rest} ${currency} that are left do not pay for another answer of ${model}`;
    }
    maxTokens = Math.min(maxTokens, tokens);
  }
  return { ...request, maxTokens };
}

/** The most that a call may cost, by its estimated input and its longest answer, with the dearest of the models. */
export function estimatedCost(meter: Meter, request: Omit<ModelRequest, 'signal'>): number {
  const input = estimateInput(request);
  const costs = [meter, ...(meter.fallbacks ?? [])].map(({ price }) => {
    if (!price) return 0;
    const factor = factorOf(price, input);
    const read = input * factor.input * Math.max(price.input, price.cacheWrite ?? 0);
    return (read + request.maxTokens * price.output * factor.output) / MILLION;
  });
  return Math.max(...costs);
}

const MESSAGE_TOKENS = new WeakMap<ModelMessage, number>();

/** Estimates the tokens of a request. Each message is estimated once, so no call serializes a long conversation again. */
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
