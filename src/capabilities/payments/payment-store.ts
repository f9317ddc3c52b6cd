import { all, first, run, toPostgres } from '../../core/sql.js';
import type { Dialect, Query, SqlDatabase, TableMigrations } from '../../core/sql.js';
import type { Scope } from '../../core/task.js';
import { insertInto, toParameters, toRecord, type Row } from '../../stores/records.js';

/**
 * The state of a payment, which only moves forward: `reserved` (counts against the limits, nothing is signed) → `signed`
 * (the signed form is stored) → `sent` (the network accepted it) → `confirmed` or `failed`. `refused`: the network did not
 * accept the signed form, and its nonce is free again. Only `failed` means that no money moved. Between `signed` and
 * `confirmed` the outcome is open, and only the stored signed form is ever sent.
 */
export type PaymentState = 'reserved' | 'signed' | 'sent' | 'refused' | 'confirmed' | 'failed';

/** Whether the payment is signed and its outcome is not known. */
export function isOpen(state: PaymentState): boolean {
  return state === 'signed' || state === 'sent' || state === 'refused';
}

interface PaymentId extends Scope {
  /** The idempotency key of the call. */
  readonly key: string;
}

/** A payment before it is reserved: at most one transfer per key. Amounts are in the token's smallest unit. */
export interface NewPayment extends PaymentId {
  /** `transfer`: a transaction of this node. `x402`: an authorization that a paid endpoint redeems. */
  readonly kind: 'transfer' | 'x402';
  readonly chainId: number;
  readonly token: string;
  readonly from: string;
  readonly to: string;
  readonly amount: bigint;
  /** The purpose that the agent gave; for x402, the paid address. */
  readonly purpose: string;
}

export interface Payment extends NewPayment {
  readonly state: PaymentState;
  /** The nonce of the transaction; undefined before it is signed and for x402. */
  readonly nonce: number | undefined;
  /** The signed form: a raw transaction, or an x402 payload as JSON. */
  readonly signed: string | undefined;
  /** The transaction, once known. */
  readonly hash: string | undefined;
  /** The reason of a failure, or the last known progress. */
  readonly note: string | undefined;
  /** Milliseconds since the epoch, by the store's clock. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** A change of a payment. Absent members stay as they are. */
export type PaymentChange = Pick<Payment, 'state'> & Partial<Pick<Payment, 'hash' | 'note'>>;

type SignedForm = { readonly signed: string } & Partial<Pick<Payment, 'nonce' | 'hash'>>;

/** The window of the daily limit: the last 24 hours. */
export const LIMIT_WINDOW_MS = 24 * 60 * 60 * 1_000;

/** After this time, a reservation that is not signed expires. */
export const RESERVATION_MS = 5 * 60 * 1_000;

/** One row per payment intent. Amounts are whole numbers of the token's smallest unit. */
const SQLITE = `
  CREATE TABLE IF NOT EXISTS payments (
    id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    key TEXT NOT NULL,
    kind TEXT NOT NULL,
    chain_id INTEGER NOT NULL,
    token TEXT NOT NULL,
    "from" TEXT NOT NULL,
    "to" TEXT NOT NULL,
    amount INTEGER NOT NULL,
    purpose TEXT NOT NULL,
    state TEXT NOT NULL,
    nonce INTEGER,
    signed TEXT,
    hash TEXT,
    note TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (tenant, owner, key)
  ) STRICT;

  -- One transfer for each nonce of a wallet; one that was refused or failed holds it no longer.
  CREATE UNIQUE INDEX IF NOT EXISTS payments_by_nonce ON payments (chain_id, "from", nonce)
    WHERE nonce IS NOT NULL AND state IN ('signed', 'sent', 'confirmed');
  CREATE INDEX IF NOT EXISTS payments_by_wallet ON payments (chain_id, "from");
  CREATE INDEX IF NOT EXISTS payments_by_owner ON payments (tenant, owner, chain_id, created_at);
  CREATE INDEX IF NOT EXISTS payments_refused ON payments (hash) WHERE state = 'refused';
  CREATE INDEX IF NOT EXISTS payments_open ON payments (chain_id, "from", nonce) WHERE state IN ('signed', 'sent', 'refused');
`;

export const PAYMENT_TABLES: TableMigrations = { sqlite: [SQLITE], postgres: [toPostgres(SQLITE)] };

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
        COALESCE(MAX(nonce) FILTER (WHERE state IN ('signed', 'sent', 'confirmed')) + 1, 0) AS "nextNonce"
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

/**
 * The durable record of payments, with the times of the database's clock. Every write is one transaction, resolves after
 * commit, and rejects with `storage` when the database fails.
 */
export class PaymentStore {
  readonly #database: SqlDatabase;

  constructor(database: SqlDatabase) {
    this.#database = database;
  }

  /**
   * Reserves the amount against the owner's daily limit on the chain. Checks and writes in one transaction, so that all
   * callers together never exceed `dailyLimit`. A `repeated` one is the payment of a known key. If its reservation had
   * expired, it was made again.
   */
  reserve(payment: NewPayment, dailyLimit: bigint) {
    return this.#database.write(LOCK, function* (now) {
      const earlier = yield* find(payment, payment.key);
      const isOver = earlier?.state === 'reserved' && earlier.updatedAt <= now - RESERVATION_MS;
      if (earlier && !isOver) return { kind: 'repeated' as const, payment: earlier };
      const { spent } = yield* spending(payment, payment.chainId, now);
      if (spent + payment.amount > dailyLimit) return { kind: 'over-limit' as const, spent };
      const row = earlier
        ? yield* first<Row>(SQL.renew, { ...payment, now })
        : yield* first<Row>(SQL.insert, { ...payment, state: 'reserved', createdAt: now, updatedAt: now });
      const kind = earlier ? ('repeated' as const) : ('reserved' as const);
      return { kind, payment: toPayment(row!) };
    });
  }

  /**
   * Stores the signed form of a reservation before it is sent. False, with nothing written, when the reservation has
   * expired or is signed, or when another transfer of the wallet has the nonce. A refused payment with the same hash becomes
   * `failed`: its transaction now belongs to this payment.
   */
  sign({ tenant, owner }: Scope, key: string, { signed, nonce, hash }: SignedForm): Promise<boolean> {
    return this.#database.write(LOCK, function* (now) {
      const reservedSince = now - RESERVATION_MS;
      const values = toParameters({ tenant, owner, key, signed, nonce, hash, reservedSince, now });
      const isSigned = (yield* run(SQL.sign, values)) === 1;
      if (isSigned) yield* run(SQL.disown, toParameters({ hash, now }));
      return isSigned;
    });
  }

  /** Changes a payment that is in one of the states `from`. Undefined, with nothing written, in another state. */
  async advance(
    { tenant, owner, key }: PaymentId,
    from: readonly PaymentState[],
    { state, hash, note }: PaymentChange,
  ): Promise<Payment | undefined> {
    const sql = advance(this.#database.dialect);
    const row = await this.#database.write(LOCK, (now) =>
      first<Row>(sql, toParameters({ tenant, owner, key, from, state, hash, note, now })),
    );
    return row && toPayment(row);
  }

  get(scope: Scope, key: string): Promise<Payment | undefined> {
    return this.#database.read(() => find(scope, key));
  }

  /** Newest first. */
  list({ tenant, owner }: Scope, limit: number): Promise<readonly Payment[]> {
    return this.#list(SQL.list, tenant, owner, limit);
  }

  async spending(scope: Scope, chainId: number) {
    const now = await this.#database.now();
    return this.#database.read(() => spending(scope, chainId, now));
  }

  /**
   * The sum and the number of the open transfers of a wallet on a chain, and the lowest nonce that no known transfer of the
   * wallet has; 0 without transfers.
   */
  async openTransfers({ chainId, from }: Pick<NewPayment, 'chainId' | 'from'>) {
    const row = await this.#database.read(() =>
      first<Record<'count' | 'nextNonce', number> & { readonly amount: string }>(
        SQL.transfers,
        chainId,
        from,
      ),
    );
    return { ...row!, amount: BigInt(row!.amount) };
  }

  /** Lists open payments of all owners on a chain, the oldest first, and transfers by nonce. */
  listOpen(chainId: number, limit: number): Promise<readonly Payment[]> {
    return this.#list(listOpen(this.#database.dialect), chainId, limit);
  }

  async #list(sql: string, ...values: readonly unknown[]): Promise<readonly Payment[]> {
    return (await this.#database.read(() => all<Row>(sql, ...values))).map(toPayment);
  }
}

function* find({ tenant, owner }: Scope, key: string): Query<Payment | undefined> {
  const row = yield* first<Row>(SQL.get, tenant, owner, key);
  return row && toPayment(row);
}

/**
 * The amounts in the window of payments that have not failed, and of reservations that have not expired, and the time at which
 * the oldest of them leaves the window; undefined without any.
 */
function* spending({ tenant, owner }: Scope, chainId: number, now: number) {
  const row = yield* first<{ readonly spent: string; readonly oldest: number | null }>(SQL.spending, {
    ...{ tenant, owner, chainId },
    ...{ since: now - LIMIT_WINDOW_MS, reservedSince: now - RESERVATION_MS },
  });
  const { spent, oldest } = row!;
  return { spent: BigInt(spent), freesAt: oldest === null ? undefined : oldest + LIMIT_WINDOW_MS };
}

function toPayment(row: Row): Payment {
  const { amount, ...others } = toRecord<Omit<Payment, 'amount'> & { readonly amount: string }>(row);
  return { ...others, amount: BigInt(amount) };
}
