import type { Scope } from '../../core/task.js';

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

/** `transfer`: a transaction of this node. `x402`: an authorization that a paid endpoint redeems. */
type PaymentKind = 'transfer' | 'x402';

/** A payment: at most one transfer per key. Amounts are in the token's smallest unit. */
export interface Payment extends Scope {
  /** The idempotency key of the call. */
  readonly key: string;
  readonly kind: PaymentKind;
  readonly chainId: number;
  readonly token: string;
  readonly from: string;
  readonly to: string;
  readonly amount: bigint;
  /** The purpose that the agent gave; for x402, the paid address. */
  readonly purpose: string;
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

export type NewPayment = Pick<
  Payment,
  'tenant' | 'owner' | 'key' | 'kind' | 'chainId' | 'token' | 'from' | 'to' | 'amount' | 'purpose'
>;

export type Reservation =
  | { readonly kind: 'reserved'; readonly payment: Payment }
  /** The payment of a known key. An expired reservation was made again. */
  | { readonly kind: 'repeated'; readonly payment: Payment }
  | { readonly kind: 'over-limit'; readonly spent: bigint };

/** A change of a payment. Absent members stay as they are. */
export interface PaymentChange {
  readonly state: PaymentState;
  readonly hash?: string;
  readonly note?: string;
}

export interface SignedForm {
  readonly signed: string;
  readonly nonce?: number;
  readonly hash?: string;
}

/** A wallet on a chain. */
export interface WalletOnChain {
  readonly chainId: number;
  readonly from: string;
}

export interface Spending {
  /** The amounts in the window of payments that have not failed, and of reservations that have not expired. */
  readonly spent: bigint;
  /** When the oldest of them leaves the window; undefined without any. */
  readonly freesAt: number | undefined;
}

export interface OpenTransfers {
  /** The sum of the open transfers of the wallet. */
  readonly amount: bigint;
  readonly count: number;
  /** The lowest nonce that no known transfer of the wallet has; 0 without transfers. */
  readonly nextNonce: number;
}

/** The window of the daily limit: the last 24 hours. */
export const LIMIT_WINDOW_MS = 24 * 60 * 60 * 1_000;

/** After this time, a reservation that is not signed expires. */
export const RESERVATION_MS = 5 * 60 * 1_000;

/**
 * The durable record of payments. Every write is one transaction, resolves after commit, and rejects with `storage` when
 * the database fails.
 */
export interface PaymentStore {
  /**
   * Reserves the amount against the owner's daily limit on the chain. Checks and writes in one transaction, so that all
   * callers together never exceed `dailyLimit`.
   */
  reserve(payment: NewPayment, dailyLimit: bigint): Promise<Reservation>;
  /**
   * Stores the signed form of a reservation before it is sent. False, with nothing written, when the reservation has
   * expired or is signed, or when another transfer of the wallet has the nonce. A refused payment with the same hash becomes
   * `failed`: its transaction now belongs to this payment.
   */
  sign(scope: Scope, key: string, form: SignedForm): Promise<boolean>;
  /** Changes a payment that is in one of the states `from`. Undefined, with nothing written, in another state. */
  advance(
    payment: Pick<Payment, 'tenant' | 'owner' | 'key'>,
    from: readonly PaymentState[],
    change: PaymentChange,
  ): Promise<Payment | undefined>;

  get(scope: Scope, key: string): Promise<Payment | undefined>;
  /** Newest first. */
  list(scope: Scope, limit: number): Promise<readonly Payment[]>;
  spending(scope: Scope, chainId: number): Promise<Spending>;
  openTransfers(place: WalletOnChain): Promise<OpenTransfers>;
  /** Lists open payments of all owners on a chain, the oldest first, and transfers by nonce. */
  listOpen(chainId: number, limit: number): Promise<readonly Payment[]>;
}

/** Manages the wallet of an owner. Each owner has one; its key cannot be read. */
export interface WalletStore {
  /** Rejects with `not-found` without a wallet. */
  address(scope: Scope): Promise<string>;
  /**
   * Stores a private key as the owner's wallet and resolves with the address. Rejects with `invalid-input` for an invalid
   * key, and with `conflict`, with nothing changed, when there is another wallet and `replace` is false.
   */
  import(scope: Scope, privateKey: string, options: { readonly replace: boolean }): Promise<string>;
}
