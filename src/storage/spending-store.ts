import type { Scope } from '../core/task.js';
import type { UsageRow } from '../core/model.js';
import type { SpendingStore } from '../stores/spending.js';
import { DAY_MS } from './rows.js';
import { all, column, lockOf, run, type Query, type SqlDatabase } from '../core/sql.js';

/** Amounts are whole billionths, so that sums are exact. */
const BILLION = 1_000_000_000;
/** The key of the row with the settled sum of a day. All other rows are reservations. */
const SETTLED = '';

const OF_OWNER = 'tenant = @tenant AND owner = @owner';
const SQL = {
  sum: `SELECT coalesce(sum(amount), 0) FROM model_spending WHERE ${OF_OWNER} AND day = @day`,
  /** Also removes the rows of days that no call can be settled on any more. */
  end: `DELETE FROM model_spending WHERE ${OF_OWNER} AND (key = @key OR day < @day - 2)`,
  dayOf: `SELECT day FROM model_spending WHERE ${OF_OWNER} AND key = @key`,
  add: `INSERT INTO model_spending (tenant, owner, key, day, amount) VALUES (@tenant, @owner, @key, @day, @amount)
    ON CONFLICT (tenant, owner, key, day) DO UPDATE SET amount = model_spending.amount + excluded.amount`,
  /** The cost of a sum becomes NULL with the first call that has no price. */
  background: `INSERT INTO background_usage (tenant, owner, day, agent, model, currency, input, output, cached, written, cost)
    VALUES (@tenant, @owner, @day, @agent, @model, @currency, @input, @output, @cached, @written, @cost)
    ON CONFLICT (tenant, owner, day, agent, model, currency) DO UPDATE SET
      input = background_usage.input + excluded.input, output = background_usage.output + excluded.output,
      cached = background_usage.cached + excluded.cached, written = background_usage.written + excluded.written,
      cost = background_usage.cost + excluded.cost`,
  ofOwner: 'SELECT * FROM background_usage WHERE tenant = ? AND owner = ? ORDER BY day, agent, model',
} as const;

export function createSpendingStore(database: SqlDatabase): SpendingStore {
  return {
    reserve({ tenant, owner }, { key, amount, limit }) {
      return database.write(lockOf({ tenant, owner }), function* (now) {
        const row = { tenant, owner, key, day: dayOf(now) };
        yield* run(SQL.end, row);
        const left = toBillionths(limit) - (yield* sumOf(row));
        const reserved = Math.max(0, Math.min(Math.ceil(amount * BILLION), left));
        yield* run(SQL.add, { ...row, amount: reserved });
        return reserved / BILLION;
      });
    },

    async settle({ tenant, owner }, key, amount) {
      await database.write(lockOf({ tenant, owner }), function* (now) {
        const [day] = yield* column<number>(SQL.dayOf, { tenant, owner, key });
        if (day === undefined) return;
        yield* run(SQL.end, { tenant, owner, key, day: dayOf(now) });
        yield* run(SQL.add, { tenant, owner, key: SETTLED, day, amount: toBillionths(amount) });
      });
    },

    async left({ tenant, owner }, limit) {
      const day = dayOf(await database.now());
      const spent = await database.read(() => sumOf({ tenant, owner, day }));
      return Math.max(0, toBillionths(limit) - spent) / BILLION;
    },

    async addBackground({ tenant, owner }, { node: _, ...row }) {
      const { cost, written = 0 } = row;
      const amount = cost === undefined ? null : toBillionths(cost);
      await database.write(lockOf({ tenant, owner }), function* (now) {
        const day = dayOf(now);
        yield* run(SQL.background, { tenant, owner, day, ...row, written, cost: amount });
        yield* run(SQL.add, { tenant, owner, key: SETTLED, day, amount: amount ?? 0 });
      });
    },

    async readBackground({ tenant, owner }) {
      const rows = await database.read(() => all<StoredRow>(SQL.ofOwner, tenant, owner));
      return rows.map(({ tenant: _, owner: __, day, cost, ...row }) => ({
        ...row,
        day: new Date(day * DAY_MS).toISOString().slice(0, 'yyyy-mm-dd'.length),
        ...(cost !== null && { cost: cost / BILLION }),
      }));
    },
  };
}

interface StoredRow extends Scope, Omit<UsageRow, 'node' | 'cost'> {
  readonly day: number;
  readonly cost: number | null;
}

function* sumOf({ tenant, owner, day }: Scope & { readonly day: number }): Query<number> {
  const [sum = 0] = yield* column<number>(SQL.sum, { tenant, owner, day });
  return Number(sum);
}

/** The number of the day since the epoch. */
function dayOf(now: number): number {
  return Math.floor(now / DAY_MS);
}

function toBillionths(amount: number): number {
  return Math.round(amount * BILLION);
}
