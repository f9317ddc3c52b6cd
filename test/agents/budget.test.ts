import { describe, expect, it } from '@jest/globals';
import { toBill, type Meter } from '../../src/agents/bill.js';
import { Budget } from '../../src/agents/budget.js';
import type { DailySpending } from '../../src/core/agent.js';
import { priceOf } from '../../src/models/prices.js';
import { DEFAULT_LIMITS, flat, toolNamed } from '../support/agent-fixtures.js';
import { MemoryRun } from '../support/memory-run.js';
import { call, say } from '../support/scripted-model.js';

describe('The price of an answer', () => {
  it.each([
    [272_000, 0.544 + 0.01],
    [272_001, 1.088_004 + 0.015],
  ])('follows the length of a prompt of %d tokens', (input, cost) => {
    const meter = {
      node: 'n',
      model: 'm',
      currency: 'USD',
      price: priceOf('openai/gpt-6.1-sol', { bill: { currency: 'USD' }, prices: {} }),
    };
    const answer = { ...say('so'), usage: { input, output: 1_000, cached: 0 } };
    const { rows } = toBill(meter, 'lango-agent', [answer]);
    expect(rows?.[0]?.cost).toBeCloseTo(cost, 9);
  });

  it('may be that of a fallback: the dearest model bounds the answer, and one without a price forbids it', async () => {
    const meter = { node: 'n', model: 'm', currency: 'USD', price: { input: 0, output: 1 } };
    const dear = { ...meter, model: 'dear', price: { input: 0, output: 1_000 } };
    const limits = { ...DEFAULT_LIMITS, cost: { amount: 1, currency: 'USD' } };
    const request = { system: [], messages: [], functions: [], maxTokens: 2_000 };
    const admit = (...fallbacks: readonly Meter[]) => {
      const run = MemoryRun.of('lango-agent', 'x');
      return new Budget({ run, limits, meter: { ...meter, fallbacks } }).admit('t1', request);
    };
    expect(await admit()).toMatchObject({ maxTokens: 2_000 });
    expect(await admit(dear)).toMatchObject({ maxTokens: 1_000 });
    const unpriced = { ...dear, price: undefined };
    expect(await admit(unpriced)).toMatchObject({ state: 'failed', reason: 'limit-cost' });
  });

  it('counts against a limit of cost without a message being serialized for each call', async () => {
    const meter = { node: 'n', model: 'm', currency: 'USD', price: { input: 1, output: 1 } };
    const limits = { ...DEFAULT_LIMITS, cost: { amount: 1, currency: 'USD' } };
    let serialized = 0;
    const toJSON = () => `${(serialized += 1)}`.padEnd(3_000_000, 'x');
    const long = { role: 'user', parts: [], toJSON } as const;
    const run = MemoryRun.of('lango-agent', 'x');
    const request = { system: [], messages: [long], functions: [], maxTokens: 1_000_000 };
    const budget = new Budget({ run, limits, meter });
    for (const step of ['t1', 't2', 't3']) {
      expect(await budget.admit(step, request)).toMatchObject({ maxTokens: 249_998 });
    }
    expect(serialized).toBe(1);
  });
});

describe('A budget', () => {
  const usd = (amount: number) => ({ amount, currency: 'USD' });
  const meterOf = () => ({ node: 'n', model: 'm', currency: 'USD', price: { input: 0, output: 1_000 } });

  /** A day's spending without a bound, which notes the reservations that have not ended. */
  class Spending implements DailySpending {
    readonly open = new Map<string, number>();
    settled = 0;

    async reserve(_scope: unknown, { key, amount }: { key: string; amount: number }): Promise<number> {
      this.open.set(key, amount);
      return amount;
    }

    async settle(_scope: unknown, key: string, amount: number): Promise<void> {
      if (this.open.delete(key)) this.settled += amount;
    }

    async left(): Promise<number> {
      return 9;
    }
  }

  it('divides tokens and money among the delegations of a round', async () => {
    const run = MemoryRun.of('lango-agent', 'x', { grant: { chain: [], depth: 5, cost: usd(0.9) } });
    const limits = { ...DEFAULT_LIMITS, tokens: 10 };
    const share = await new Budget({ run, limits }).share('t1.c0', { sharedBy: 3, isRemote: true });
    expect(share).toEqual({ tokens: 3, cost: usd(0.3) });
  });

  it('reserves the share of another node: of the task, or of half the day, whichever is less', async () => {
    const limits = { ...DEFAULT_LIMITS, ownerCostPerDay: usd(10) };
    const spending = new Spending();
    for (const [cost, reserved] of [
      [undefined, 4.5],
      [1, 1],
    ] as const) {
      const grant = { chain: [], depth: 5, ...(cost && { cost: usd(cost) }) };
      const budget = new Budget({ run: MemoryRun.of('lango-agent', 'x', { grant }), limits, spending });
      const near = await budget.share('t1.c0', { sharedBy: 1, isRemote: false });
      expect([near.cost?.amount, spending.open.size]).toEqual([cost, 0]);
      const far = await budget.share('t1.c0', { sharedBy: 1, isRemote: true });
      expect([far.cost, ...spending.open.values()]).toEqual([usd(reserved), reserved]);
      await budget.settle('t1.c0', { input: 0, output: 0, cached: 0 });
    }
  });

  it('counts the call of a recorded turn that a crash kept from being counted', async () => {
    const spending = new Spending();
    const paid = { ...call(['fs_read', { path: 'a' }]), usage: { input: 0, output: 200, cached: 0 } };
    const { agent } = flat([paid, say('done')], {
      ...{ tools: [toolNamed('fs_read')], meterOf, spending },
      limits: { ...DEFAULT_LIMITS, ownerCostPerDay: usd(100) },
    });
    const run = MemoryRun.of('lango-agent', 'do it');
    await run.perform(agent);
    const crashed = run.resumed(run.events.findIndex(({ body }) => body.type === 'turn-end') + 1);
    spending.settled = 0;
    spending.open.set(`${run.task.id}/t1`, 1);
    await crashed.perform(agent);
    expect([...spending.open]).toEqual([]);
    expect(spending.settled).toBeGreaterThanOrEqual(0.2);
  });
});
