import type {
  NewPayment,
  OpenTransfers,
  Payment,
  PaymentChange,
  PaymentState,
  PaymentStore,
  Reservation,
  SignedForm,
  Spending,
  WalletOnChain,
} from '../../stores/payments.js';
import { LIMIT_WINDOW_MS, RESERVATION_MS } from '../../stores/payments.js';
import type { Scope } from '../../core/task.js';
import type { Row } from '../records.js';
import { insertInto, toRecord } from '../records.js';
import type { SqliteDatabase } from './database.js';
import { Prepared } from './prepared.js';

type TransfersRow = Readonly<Record<'amount' | 'count' | 'next', bigint>>;

interface SpendingRow {
  readonly spent: bigint;
  readonly oldest: bigint | null;
}

/** The payments that count against a limit: all but failed payments and expired reservations. */
const COUNTS = `state <> 'failed' AND (state <> 'reserved' OR updated_at > @reservedSince)`;

const SQL = {
  get: 'SELECT * FROM payments WHERE tenant = ? AND owner = ? AND key = ?',
  insert: `${insertInto('payments', [
    ...['tenant', 'owner', 'key', 'kind', 'chainId', 'token', 'from', 'to', 'amount', 'purpose', 'state'],
    ...['createdAt', 'updatedAt'],
  ])} RETURNING *`,
  renew: `UPDATE payments SET created_at = @now, updated_at = @now
      WHERE tenant = @tenant AND owner = @owner AND key = @key RETURNING *`,
  spending: `SELECT COALESCE(SUM(amount), 0) AS spent, MIN(created_at) AS oldest FROM payments
      WHERE tenant = @tenant AND owner = @owner AND chain_id = @chainId AND created_at > @since AND ${COUNTS}`,
  sign: `UPDATE payments SET state = 'signed', signed = @signed, nonce = @nonce, hash = @hash, updated_at = @now
      WHERE tenant = @tenant AND owner = @owner AND key = @key AND state = 'reserved' AND updated_at > @reservedSince
        AND (@nonce IS NULL OR NOT EXISTS (
          SELECT 1 FROM payments AS other WHERE other.chain_id = payments.chain_id AND other."from" = payments."from"
            AND other.nonce = @nonce AND other.state IN ('signed', 'sent', 'confirmed')))`,
  /** Two equal orders give the same transaction if the second one reuses the nonce of the first. The first one then fails. */
  disown: `UPDATE payments SET state = 'failed', note = 'the next payment of the wallet reused its nonce', updated_at = @now
      WHERE hash = @hash AND state = 'refused'`,
  advance: `UPDATE payments SET state = @state, hash = COALESCE(@hash, hash), note = COALESCE(@note, note), updated_at = @now
      WHERE tenant = @tenant AND owner = @owner AND key = @key AND state IN (SELECT value FROM json_each(@from)) RETURNING *`,
  list: 'SELECT * FROM payments WHERE tenant = ? AND owner = ? ORDER BY id DESC LIMIT ?',
  listOpen: `SELECT * FROM payments INDEXED BY payments_open
      WHERE chain_id = ? AND state IN ('signed', 'sent', 'refused') ORDER BY "from", nonce, id LIMIT ?`,
  transfers: `SELECT COALESCE(SUM(amount) FILTER (WHERE state IN ('signed', 'sent')), 0) AS amount,
        COUNT(*) FILTER (WHERE state IN ('signed', 'sent')) AS count,
        COALESCE(MAX(nonce) FILTER (WHERE state IN ('signed', 'sent', 'confirmed')) + 1, 0) AS next
      FROM payments WHERE chain_id = ? AND "from" = ?`,
} as const;

/** Stores payments. All times are of the database's clock. */
export class SqlitePaymentStore implements PaymentStore {
  readonly #database: SqliteDatabase;
  readonly #prepared: Prepared;

  constructor(database: SqliteDatabase) {
    this.#database = database;
    this.#prepared = new Prepared(database.handle, { asBigInts: true });
  }

  reserve(payment: NewPayment, dailyLimit: bigint): Promise<Reservation> {
    return this.#database.write((): Reservation => {
      const now = this.#database.now();
      const earlier = this.#find(payment, payment.key);
      const isOver = earlier?.state === 'reserved' && earlier.updatedAt <= now - RESERVATION_MS;
      if (earlier && !isOver) return { kind: 'repeated', payment: earlier };
      const { spent } = this.#spending(payment, payment.chainId, now);
      if (spent + payment.amount > dailyLimit) return { kind: 'over-limit', spent };
      const row = earlier
        ? this.#prepared.first<Row>(SQL.renew, { ...payment, now })
        : this.#prepared.first<Row>(SQL.insert, {
            ...{ ...payment, state: 'reserved', createdAt: now, updatedAt: now },
          });
      return { kind: earlier ? 'repeated' : 'reserved', payment: toPayment(row!) };
    });
  }

  sign({ tenant, owner }: Scope, key: string, { signed, nonce, hash }: SignedForm): Promise<boolean> {
    return this.#database.write(() => {
      const now = this.#database.now();
      const { changes } = this.#prepared.run(SQL.sign, {
        ...{ tenant, owner, key, signed, now },
        ...{ nonce: nonce ?? null, hash: hash ?? null, reservedSince: now - RESERVATION_MS },
      });
      if (changes === 1) this.#prepared.run(SQL.disown, { hash: hash ?? null, now });
      return changes === 1;
    });
  }

  advance(
    { tenant, owner, key }: Pick<Payment, 'tenant' | 'owner' | 'key'>,
    from: readonly PaymentState[],
    { state, hash, note }: PaymentChange,
  ): Promise<Payment | undefined> {
    return this.#database.write(() => {
      const row = this.#prepared.first<Row>(SQL.advance, {
        ...{ tenant, owner, key, state, now: this.#database.now() },
        ...{ hash: hash ?? null, note: note ?? null, from: JSON.stringify(from) },
      });
      return row && toPayment(row);
    });
  }

  async get(scope: Scope, key: string): Promise<Payment | undefined> {
    return this.#database.read(() => this.#find(scope, key));
  }

  async list({ tenant, owner }: Scope, limit: number): Promise<readonly Payment[]> {
    return this.#database.read(() => this.#prepared.all<Row>(SQL.list, tenant, owner, limit).map(toPayment));
  }

  async spending(scope: Scope, chainId: number): Promise<Spending> {
    return this.#database.read(() => this.#spending(scope, chainId, this.#database.now()));
  }

  async openTransfers({ chainId, from }: WalletOnChain): Promise<OpenTransfers> {
    return this.#database.read(() => {
      const row = this.#prepared.first<TransfersRow>(SQL.transfers, chainId, from)!;
      return { amount: row.amount, count: Number(row.count), nextNonce: Number(row.next) };
    });
  }

  async listOpen(chainId: number, limit: number): Promise<readonly Payment[]> {
    return this.#database.read(() => this.#prepared.all<Row>(SQL.listOpen, chainId, limit).map(toPayment));
  }

  #find({ tenant, owner }: Scope, key: string): Payment | undefined {
    const row = this.#prepared.first<Row>(SQL.get, tenant, owner, key);
    return row && toPayment(row);
  }

  #spending({ tenant, owner }: Scope, chainId: number, now: number): Spending {
    const { spent, oldest } = this.#prepared.first<SpendingRow>(SQL.spending, {
      ...{ tenant, owner, chainId },
      ...{ since: now - LIMIT_WINDOW_MS, reservedSince: now - RESERVATION_MS },
    })!;
    return { spent, freesAt: oldest === null ? undefined : Number(oldest) + LIMIT_WINDOW_MS };
  }
}

/** What a payment has at first; columns with NULL give no member. */
const NOT_YET = { nonce: undefined, signed: undefined, hash: undefined, note: undefined } as const;

/** Only the amount may exceed the exact range of a number. */
function toPayment(row: Row): Payment {
  const { amount, ...others } = toRecord<Payment>(row);
  const numbers = Object.entries(others).map(([member, value]) => [
    member,
    typeof value === 'bigint' ? Number(value) : value,
  ]);
  return { ...NOT_YET, ...(Object.fromEntries(numbers) as Omit<Payment, 'amount'>), amount };
}
