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
} from './payment-store.js';
import { LIMIT_WINDOW_MS, RESERVATION_MS } from './payment-store.js';
import type { Scope } from '../../core/task.js';
import type { Row } from '../../stores/records.js';
import { insertInto, toRecord } from '../../stores/records.js';
import type { Dialect, Query, SqlDatabase } from '../../core/sql.js';
import { all, first, run } from '../../core/sql.js';

interface TransfersRow {
  readonly amount: string;
  readonly count: number;
  readonly next: number;
}

interface SpendingRow {
  readonly spent: string;
  readonly oldest: number | null;
}

/** Amounts are read as text, because they may exceed the exact range of a number. */
const COLUMNS = `tenant, owner, key, kind, chain_id, token, "from", "to", CAST(amount AS TEXT) AS amount, purpose, state, nonce,
  signed, hash, note, created_at, updated_at`;

/** The payments that count against a limit: all but failed payments and expired reservations. */
const COUNTS = `state <> 'failed' AND (state <> 'reserved' OR updated_at > @reservedSince)`;

const SQL = {
  get: `SELECT ${COLUMNS} FROM payments WHERE tenant = ? AND owner = ? AND key = ?`,
  insert: `${insertInto('payments', [
    ...['tenant', 'owner', 'key', 'kind', 'chainId', 'token', 'from', 'to', 'amount', 'purpose', 'state'],
    ...['createdAt', 'updatedAt'],
  ])} RETURNING ${COLUMNS}`,
  renew: `UPDATE payments SET created_at = @now, updated_at = @now
      WHERE tenant = @tenant AND owner = @owner AND key = @key RETURNING ${COLUMNS}`,
  spending: `SELECT CAST(COALESCE(SUM(amount), 0) AS TEXT) AS spent, MIN(created_at) AS oldest FROM payments
      WHERE tenant = @tenant AND owner = @owner AND chain_id = @chainId AND created_at > @since AND ${COUNTS}`,
  sign: `UPDATE payments SET state = 'signed', signed = @signed, nonce = @nonce, hash = @hash, updated_at = @now
      WHERE tenant = @tenant AND owner = @owner AND key = @key AND state = 'reserved' AND updated_at > @reservedSince
        AND (CAST(@nonce AS BIGINT) IS NULL OR NOT EXISTS (
          SELECT 1 FROM payments AS other WHERE other.chain_id = payments.chain_id AND other."from" = payments."from"
            AND other.nonce = @nonce AND other.state IN ('signed', 'sent', 'confirmed')))`,
  /** Fails a refused payment whose transaction another payment made again: equal orders with the same nonce are one transaction. */
  disown: `UPDATE payments SET state = 'failed', note = 'the next payment of the wallet reused its nonce', updated_at = @now
      WHERE hash = @hash AND state = 'refused'`,
  list: `SELECT ${COLUMNS} FROM payments WHERE tenant = ? AND owner = ? ORDER BY id DESC LIMIT ?`,
  transfers: `SELECT CAST(COALESCE(SUM(amount) FILTER (WHERE state IN ('signed', 'sent')), 0) AS TEXT) AS amount,
        COUNT(*) FILTER (WHERE state IN ('signed', 'sent')) AS count,
        COALESCE(MAX(nonce) FILTER (WHERE state IN ('signed', 'sent', 'confirmed')) + 1, 0) AS next
      FROM payments WHERE chain_id = ? AND "from" = ?`,
} as const;

const advance = ({ items }: Dialect): string => `
  UPDATE payments SET state = @state, hash = COALESCE(@hash, hash), note = COALESCE(@note, note), updated_at = @now
    WHERE tenant = @tenant AND owner = @owner AND key = @key AND state IN ${items('text', '@from')} RETURNING ${COLUMNS}`;
const listOpen = ({ using }: Dialect): string => `
  SELECT ${COLUMNS} FROM payments ${using('payments_open')}
    WHERE chain_id = ? AND state IN ('signed', 'sent', 'refused') ORDER BY "from", nonce, id LIMIT ?`;

/** One lock for all payments: they are few, and owners may share a wallet. */
const LOCK = 'payments';

/** Stores payments. All times are of the database's clock. */
export class SqlPaymentStore implements PaymentStore {
  readonly #database: SqlDatabase;

  constructor(database: SqlDatabase) {
    this.#database = database;
  }

  reserve(payment: NewPayment, dailyLimit: bigint): Promise<Reservation> {
    return this.#database.write(LOCK, (now) => reserve(payment, dailyLimit, now));
  }

  sign(scope: Scope, key: string, form: SignedForm): Promise<boolean> {
    return this.#database.write(LOCK, (now) => sign({ ...scope, key, ...form }, now));
  }

  async advance(
    { tenant, owner, key }: Pick<Payment, 'tenant' | 'owner' | 'key'>,
    from: readonly PaymentState[],
    { state, hash, note }: PaymentChange,
  ): Promise<Payment | undefined> {
    const row = await this.#database.write(LOCK, (now) =>
      first<Row>(advance(this.#database.dialect), {
        ...{ tenant, owner, key, state, now },
        ...{ hash: hash ?? null, note: note ?? null, from: JSON.stringify(from) },
      }),
    );
    return row && toPayment(row);
  }

  async get(scope: Scope, key: string): Promise<Payment | undefined> {
    return this.#database.read(() => find(scope, key));
  }

  async list({ tenant, owner }: Scope, limit: number): Promise<readonly Payment[]> {
    return (await this.#database.read(() => all<Row>(SQL.list, tenant, owner, limit))).map(toPayment);
  }

  async spending(scope: Scope, chainId: number): Promise<Spending> {
    const now = await this.#database.now();
    return this.#database.read(() => spending(scope, chainId, now));
  }

  async openTransfers({ chainId, from }: WalletOnChain): Promise<OpenTransfers> {
    const row = await this.#database.read(() => first<TransfersRow>(SQL.transfers, chainId, from));
    const { amount, count, next } = row!;
    return { amount: BigInt(amount), count, nextNonce: next };
  }

  async listOpen(chainId: number, limit: number): Promise<readonly Payment[]> {
    const sql = listOpen(this.#database.dialect);
    return (await this.#database.read(() => all<Row>(sql, chainId, limit))).map(toPayment);
  }
}

function* reserve(payment: NewPayment, dailyLimit: bigint, now: number): Query<Reservation> {
  const earlier = yield* find(payment, payment.key);
  const isOver = earlier?.state === 'reserved' && earlier.updatedAt <= now - RESERVATION_MS;
  if (earlier && !isOver) return { kind: 'repeated', payment: earlier };
  const { spent } = yield* spending(payment, payment.chainId, now);
  if (spent + payment.amount > dailyLimit) return { kind: 'over-limit', spent };
  const row = earlier
    ? yield* first<Row>(SQL.renew, { ...payment, now })
    : yield* first<Row>(SQL.insert, {
        ...{ ...payment, state: 'reserved', createdAt: now, updatedAt: now },
      });
  return { kind: earlier ? 'repeated' : 'reserved', payment: toPayment(row!) };
}

function* sign(
  { tenant, owner, key, signed, nonce, hash }: Scope & { readonly key: string } & SignedForm,
  now: number,
): Query<boolean> {
  const changes = yield* run(SQL.sign, {
    ...{ tenant, owner, key, signed, now },
    ...{ nonce: nonce ?? null, hash: hash ?? null, reservedSince: now - RESERVATION_MS },
  });
  if (changes === 1) yield* run(SQL.disown, { hash: hash ?? null, now });
  return changes === 1;
}

function* find({ tenant, owner }: Scope, key: string): Query<Payment | undefined> {
  const row = yield* first<Row>(SQL.get, tenant, owner, key);
  return row && toPayment(row);
}

function* spending({ tenant, owner }: Scope, chainId: number, now: number): Query<Spending> {
  const row = yield* first<SpendingRow>(SQL.spending, {
    ...{ tenant, owner, chainId },
    ...{ since: now - LIMIT_WINDOW_MS, reservedSince: now - RESERVATION_MS },
  });
  const { spent, oldest } = row!;
  return {
    spent: BigInt(spent),
    freesAt: oldest === null ? undefined : oldest + LIMIT_WINDOW_MS,
  };
}

/** The members of a new payment that are not set yet: columns with NULL give no member. */
const NOT_YET = { nonce: undefined, signed: undefined, hash: undefined, note: undefined } as const;

function toPayment(row: Row): Payment {
  const { amount, ...others } = toRecord<Omit<Payment, 'amount'> & { readonly amount: string }>(row);
  return { ...NOT_YET, ...others, amount: BigInt(amount) };
}
