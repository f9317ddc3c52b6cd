import type {
  NewPayment,
  OpenTransfers,
  Payment,
  PaymentChange,
  PaymentKind,
  PaymentState,
  PaymentStore,
  Reservation,
  SignedForm,
  Spending,
  WalletOnChain,
} from '../../stores/payments.js';
import { LIMIT_WINDOW_MS, RESERVATION_MS } from '../../stores/payments.js';
import type { Scope } from '../../core/task.js';
import type { SqliteDatabase } from './database.js';
import { Prepared } from './prepared.js';

/** A row of `payments`. Whole numbers are bigints, as an amount may exceed the exact range of a number. */
interface PaymentRow extends Scope {
  readonly key: string;
  readonly kind: PaymentKind;
  readonly chain: bigint;
  readonly token: string;
  readonly sender: string;
  readonly receiver: string;
  readonly amount: bigint;
  readonly purpose: string;
  readonly state: PaymentState;
  readonly nonce: bigint | null;
  readonly signed: string | null;
  readonly hash: string | null;
  readonly note: string | null;
  readonly created_at: bigint;
  readonly updated_at: bigint;
}

type TransfersRow = Readonly<Record<'amount' | 'count' | 'next', bigint>>;

interface SpendingRow {
  readonly spent: bigint;
  readonly oldest: bigint | null;
}

/** The payments that count against a limit: all but failed payments and expired reservations. */
const COUNTS = `state <> 'failed' AND (state <> 'reserved' OR updated_at > @reservedSince)`;

const SQL = {
  get: 'SELECT * FROM payments WHERE tenant = ? AND owner = ? AND key = ?',
  insert: `INSERT INTO payments (tenant, owner, key, kind, chain, token, sender, receiver, amount, purpose, state, created_at, updated_at)
      VALUES (@tenant, @owner, @key, @kind, @chainId, @token, @from, @to, @amount, @purpose, 'reserved', @now, @now) RETURNING *`,
  renew: `UPDATE payments SET created_at = @now, updated_at = @now
      WHERE tenant = @tenant AND owner = @owner AND key = @key RETURNING *`,
  spending: `SELECT COALESCE(SUM(amount), 0) AS spent, MIN(created_at) AS oldest FROM payments
      WHERE tenant = @tenant AND owner = @owner AND chain = @chainId AND created_at > @since AND ${COUNTS}`,
  sign: `UPDATE payments SET state = 'signed', signed = @signed, nonce = @nonce, hash = @hash, updated_at = @now
      WHERE tenant = @tenant AND owner = @owner AND key = @key AND state = 'reserved' AND updated_at > @reservedSince
        AND (@nonce IS NULL OR NOT EXISTS (
          SELECT 1 FROM payments AS other WHERE other.chain = payments.chain AND other.sender = payments.sender
            AND other.nonce = @nonce AND other.state IN ('signed', 'sent', 'confirmed')))`,
  /** Two equal orders give the same transaction if the second one reuses the nonce of the first. The first one then fails. */
  disown: `UPDATE payments SET state = 'failed', note = 'the next payment of the wallet reused its nonce', updated_at = @now
      WHERE hash = @hash AND state = 'refused'`,
  advance: `UPDATE payments SET state = @state, hash = COALESCE(@hash, hash), note = COALESCE(@note, note), updated_at = @now
      WHERE tenant = @tenant AND owner = @owner AND key = @key AND state IN (SELECT value FROM json_each(@from)) RETURNING *`,
  list: 'SELECT * FROM payments WHERE tenant = ? AND owner = ? ORDER BY id DESC LIMIT ?',
  listOpen: `SELECT * FROM payments INDEXED BY payments_open
      WHERE chain = ? AND state IN ('signed', 'sent', 'refused') ORDER BY sender, nonce, id LIMIT ?`,
  transfers: `SELECT COALESCE(SUM(amount) FILTER (WHERE state IN ('signed', 'sent')), 0) AS amount,
        COUNT(*) FILTER (WHERE state IN ('signed', 'sent')) AS count,
        COALESCE(MAX(nonce) FILTER (WHERE state IN ('signed', 'sent', 'confirmed')) + 1, 0) AS next
      FROM payments WHERE chain = ? AND sender = ?`,
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
      const row = this.#prepared.first<PaymentRow>(earlier ? SQL.renew : SQL.insert, { ...payment, now })!;
      return { kind: earlier ? 'repeated' : 'reserved', payment: toPayment(row) };
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
      const row = this.#prepared.first<PaymentRow>(SQL.advance, {
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
    return this.#database.read(() =>
      this.#prepared.all<PaymentRow>(SQL.list, tenant, owner, limit).map(toPayment),
    );
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
    return this.#database.read(() =>
      this.#prepared.all<PaymentRow>(SQL.listOpen, chainId, limit).map(toPayment),
    );
  }

  #find({ tenant, owner }: Scope, key: string): Payment | undefined {
    const row = this.#prepared.first<PaymentRow>(SQL.get, tenant, owner, key);
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

function toPayment(row: PaymentRow): Payment {
  const { tenant, owner, key, kind, token, amount, purpose, state } = row;
  return {
    ...{ tenant, owner, key, kind, token, amount, purpose, state },
    chainId: Number(row.chain),
    from: row.sender,
    to: row.receiver,
    nonce: row.nonce === null ? undefined : Number(row.nonce),
    signed: row.signed ?? undefined,
    hash: row.hash ?? undefined,
    note: row.note ?? undefined,
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
  };
}
