import type { ModelRequest, Usage } from '../core/model.js';
import type { Run, RunEnd } from '../core/run.js';
import type { Money, Scope } from '../core/task.js';
import { estimatedCost, moneySpent, withinAmount, type Spending } from './meter.js';

/** Keeps the day's (UTC) cost of each owner's model calls, together for all processes that share the database. */
export interface DailySpending {
  /**
   * Reserves `amount` for the call `key`, or less when `limit` leaves the owner less today. Resolves with the reserved
   * amount. Replaces an earlier reservation of the same call.
   */
  reserve(scope: Scope, call: { key: string; amount: number; limit: number }): Promise<number>;
  /** Ends the reservation of a call and counts its cost. Does nothing for a call without one. */
  settle(scope: Scope, key: string, amount: number): Promise<void>;
  /** Resolves with what `limit` leaves to the owner today, without what is reserved. */
  left(scope: Scope, limit: number): Promise<number>;
}

interface Turn extends Spending {
  readonly step: string;
  readonly spending: DailySpending | undefined;
}

type Request = Omit<ModelRequest, 'signal'>;

/**
 * Makes a model call within the limit of its owner and day: reserves the most that it can cost, shortens its answer to what
 * is left, and counts what it cost. Returns the end of the task when too little is left.
 */
export async function withinDay<Result>(
  turn: Turn,
  request: Request,
  call: (request: Request) => Promise<Result>,
): Promise<Result | RunEnd> {
  const { run, step, limits, meter, spending } = turn;
  const limit = limits.ownerCostPerDay;
  if (!limit || !meter || !spending) return call(request);
  const key = keyOf(run, step);
  const amount = await spending.reserve(run.task, {
    ...{ key, amount: estimatedCost(meter, request), limit: limit.amount },
  });
  const before = moneySpent(run.usage(), limit.currency);
  try {
    const affordable = withinAmount(turn, request, { amount, currency: limit.currency });
    if (typeof affordable === 'string') return ended(affordable);
    return await call(affordable);
  } finally {
    const cost = moneySpent(run.usage(), limit.currency) - before;
    await spending.settle(run.task, key, Math.max(0, cost)).catch((error: unknown) => {
      run.logger.warn(
        'the cost of a model call could not be counted; its reservation stays until the day ends',
        { error },
      );
    });
  }
}

type Step = Pick<Turn, 'run' | 'step' | 'limits' | 'spending'>;

/** Ends the reservation of a step, if there is one, and counts what the step cost. */
export async function settleStep({ run, step, limits, spending }: Step, usage: Usage): Promise<void> {
  const limit = limits.ownerCostPerDay;
  if (limit) await spending?.settle(run.task, keyOf(run, step), moneySpent(usage, limit.currency));
}

/**
 * Reserves money for a delegation to another node and returns it: half of what the owner has left today, less when several
 * delegations share it, and at most `max`. The other half is for other tasks. Returns undefined without a limit.
 */
export async function reserveShare(
  { run, step, limits, spending }: Step,
  { max = Infinity, sharedBy }: { readonly max: number | undefined; readonly sharedBy: number },
): Promise<Money | undefined> {
  const limit = limits.ownerCostPerDay;
  if (!limit || !spending) return undefined;
  const share = (await spending.left(run.task, limit.amount)) / (sharedBy + 1);
  const call = { key: keyOf(run, step), amount: Math.min(share, max), limit: limit.amount };
  return { ...limit, amount: await spending.reserve(run.task, call) };
}

function keyOf({ task }: Run, step: string): string {
  return `${task.id}/${step}`;
}

function ended(why: string): RunEnd {
  const text = `Stopped: there is a limit of cost per owner and day (agent.limits.ownerCostPerDay), and ${why}.`;
  return { state: 'failed', reason: 'limit-cost-day', text };
}
