import type { AgentLimits, DailySpending } from '../core/agent.js';
import { NO_USAGE, type SpentUsage, type Usage } from '../core/model.js';
import type { Run, RunEnd } from '../core/run.js';
import type { Grant, Money } from '../core/task.js';
import { estimatedCost, moneyLeft, moneySpent, shareOf, sumOf, toBill, withinAmount } from './bill.js';
import type { Meter, Request } from './bill.js';

interface BudgetOptions {
  readonly run: Run;
  readonly limits: Pick<AgentLimits, 'tokens' | 'cost' | 'ownerCostPerDay'>;
  /** Undefined when no bill is kept. */
  readonly meter?: Meter | undefined;
  /** Undefined when there is no limit per owner and day. */
  readonly spending?: DailySpending | undefined;
}

/**
 * The tokens and the money that the task of a run may still use, and what its owner may still spend today. Each model call
 * and each delegation is a step that asks here before it begins, and is counted here once it is over.
 */
export class Budget {
  readonly #options: BudgetOptions;

  constructor(options: BudgetOptions) {
    this.#options = options;
  }

  /**
   * Reserves the most that a model call can cost, and shortens its output to what is left. Returns the end of the task when
   * too little is left. `bill` or `settle` ends the reservation.
   */
  async admit(step: string, request: Request): Promise<Request | RunEnd> {
    const { run, meter, limits, spending } = this.#options;
    if (this.#tokensLeft() <= 0) {
      const why = `the ${this.#tokenLimit} tokens of this task are used up (agent.limits.tokens)`;
      return stopped('limit-tokens', why);
    }
    const money = this.#moneyLeft();
    const ofTask = meter && money ? withinAmount(meter, request, money) : request;
    if (typeof ofTask === 'string')
      return stopped('limit-cost', `this task has a limit of cost (agent.limits.cost), and ${ofTask}`);
    const { ownerCostPerDay: limit } = limits;
    if (!limit || !meter || !spending) return ofTask;
    const most = { key: this.#keyOf(step), amount: estimatedCost(meter, ofTask), limit: limit.amount };
    const amount = await spending.reserve(run.task, most);
    const ofDay = withinAmount(meter, ofTask, { ...limit, amount });
    if (typeof ofDay !== 'string') return ofDay;
    await this.settle(step, NO_USAGE);
    const why = `there is a limit of cost per owner and day (agent.limits.ownerCostPerDay), and ${ofDay}`;
    return stopped('limit-cost-day', why);
  }

  /** Ends the reservation of a model call and counts its attempts. Resolves with their usage and its rows on the bill. */
  async bill(step: string, attempts: readonly SpentUsage[]): Promise<Usage> {
    const { run, meter } = this.#options;
    const usage = meter
      ? toBill(meter, run.task.agent, attempts)
      : sumOf(attempts.map((attempt) => attempt.usage));
    await this.settle(step, usage);
    return usage;
  }

  /**
   * Returns the share of a delegation, when `sharedBy` delegations share what is left. For another node, which bills the
   * work itself (`isRemote`), it also reserves the money: at most half of what the owner has left today, less when several
   * delegations share it. The other half is for other tasks.
   */
  async share(
    step: string,
    { sharedBy, isRemote }: Readonly<{ sharedBy: number; isRemote: boolean }>,
  ): Promise<Pick<Grant, 'tokens' | 'cost'>> {
    const { run, limits, spending } = this.#options;
    const tokens = Math.max(0, Math.floor(this.#tokensLeft() / sharedBy));
    const money = this.#moneyLeft();
    const cost = money && shareOf(money, sharedBy);
    const { ownerCostPerDay: limit } = limits;
    if (!isRemote || !limit || !spending) return { tokens, ...(cost && { cost }) };
    const ofDay = (await spending.left(run.task, limit.amount)) / (sharedBy + 1);
    const amount = Math.min(ofDay, cost?.amount ?? Infinity);
    const most = { key: this.#keyOf(step), amount, limit: limit.amount };
    return { tokens, cost: { ...limit, amount: await spending.reserve(run.task, most) } };
  }

  /** Ends the reservation of a step, if there is one, and counts what the step cost. Never rejects. */
  async settle(step: string, usage: Usage): Promise<void> {
    const { run, limits, spending } = this.#options;
    const { ownerCostPerDay: limit } = limits;
    if (!limit || !spending) return;
    try {
      await spending.settle(run.task, this.#keyOf(step), moneySpent(usage, limit.currency));
    } catch (error) {
      const text = 'the cost of a step could not be counted; its reservation stays until the day ends';
      run.logger.warn(text, { error });
    }
  }

  get #tokenLimit(): number {
    const { run, limits } = this.#options;
    return Math.min(limits.tokens, run.grant.tokens ?? Infinity);
  }

  #tokensLeft(): number {
    const { input, output } = this.#options.run.usage();
    return this.#tokenLimit - input - output;
  }

  /** Undefined without a limit. */
  #moneyLeft(): Money | undefined {
    const { run, limits } = this.#options;
    // The grant of a task has the limit of its node already.
    const limit = run.grant.cost ?? limits.cost;
    return limit && moneyLeft(limit, run.usage());
  }

  #keyOf(step: string): string {
    return `${this.#options.run.task.id}/${step}`;
  }
}

/** The end of a run that has reached a limit. */
export function stopped(reason: string, why: string): RunEnd {
  return { state: 'failed', reason, text: `Stopped: ${why}.` };
}
