import type { Scope } from '../core/task.js';
import type { SpendingStore } from '../stores/spending.js';
import type { Query, SqlDatabase } from './sql.js';
import { column, lockOf, run } from './sql.js';

const DAY_MS = 24 * 60 * 60 * 1_000;
/** Amounts are whole billionths, so that sums are exact. */
const BILLION = 1_000_000_000;
/** The key of the row that has the settled sum of a day. The others are reservations. */
const SETTLED = '';

const OF_OWNER = 'tenant = @tenant AND owner = @owner';
const SQL = {
  sum: `SELECT coalesce(sum(amount), 0) FROM model_spending WHERE ${OF_OWNER} AND day = @day`,
  /** Also removes the rows of days that no call can be settled on any more. */
  end: `DELETE FROM model_spending WHERE ${OF_OWNER} AND (key = @key OR day < @day - 2)`,
  dayOf: `SELECT day FROM model_spending WHERE ${OF_OWNER} AND key = @key`,
  add: `INSERT INTO model_spending (tenant, owner, key, day, amount) VALUES (@tenant, @owner, @key, @day, @amount)
    ON CONFLICT (tenant, owner, key, day) DO UPDATE SET amount = model_spending.amount + excluded.amount`,
} as const;

export class SqlSpendingStore implements SpendingStore {
  readonly #database: SqlDatabase;

  constructor(database: SqlDatabase) {
    this.#database = database;
  }

  reserve({ tenant, owner }: Scope, call: { key: string; amount: number; limit: number }): Promise<number> {
    const { key, amount, limit } = call;
    return this.#database.write(lockOf({ tenant, owner }), function* (now) {
      const row = { tenant, owner, key, day: dayOf(now) };
      yield* run(SQL.end, row);
      const left = toBillionths(limit) - (yield* sumOf(row));
      const reserved = Math.max(0, Math.min(Math.ceil(amount * BILLION), left));
      yield* run(SQL.add, { ...row, amount: reserved });
      return reserved / BILLION;
    });
  }

  async settle({ tenant, owner }: Scope, key: string, amount: number): Promise<void> {
    await this.#database.write(lockOf({ tenant, owner }), function* (now) {
      const [day] = yield* column<number>(SQL.dayOf, { tenant, owner, key });
      if (day === undefined) return;
      yield* run(SQL.end, { tenant, owner, key, day: dayOf(now) });
      yield* run(SQL.add, { tenant, owner, key: SETTLED, day, amount: toBillionths(amount) });
    });
  }

  async add({ tenant, owner }: Scope, amount: number): Promise<void> {
    await this.#database.write(lockOf({ tenant, owner }), (now) =>
      run(SQL.add, { tenant, owner, key: SETTLED, day: dayOf(now), amount: toBillionths(amount) }),
    );
  }

  async left({ tenant, owner }: Scope, limit: number): Promise<number> {
    const day = dayOf(await this.#database.now());
    const spent = await this.#database.read(() => sumOf({ tenant, owner, day }));
    return Math.max(0, toBillionths(limit) - spent) / BILLION;
  }
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
