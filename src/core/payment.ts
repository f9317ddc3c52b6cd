import type { Scope } from './task.js';

/** The form of an address; whether its checksum holds (EIP-55) is another question. */
export const ADDRESS = /^0x[0-9a-fA-F]{40}$/;

/**
 * What became of one payment. It only goes forward:
 * `reserved` (counts against the limits, nothing is signed) → `signed` (the signed form is stored) → `sent`
 * (the network took it) → `confirmed` or `failed`. `refused`: signed, and the network would not have it;
 * its nonce is free again. Only `failed` says for certain that no money moved; between `signed` and
 * `confirmed` the outcome is open, and the stored signed form is all that is ever sent for it.
 */

export type PaymentState = 'reserved' | 'signed' | 'sent' | 'refused' | 'confirmed' | 'failed';

/** Signed, and the outcome is not known yet. */
export function isOpen(state: PaymentState): boolean {
  return state === 'signed' || state === 'sent' || state === 'refused';
}

/** `transfer`: a transaction of ours. `x402`: an authorization that a paid endpoint redeems. */
export type PaymentKind = 'transfer' | 'x402';

/** One intent to pay: one key, one transfer at most. Amounts are whole numbers of the token's smallest unit. */
export interface Payment extends Scope {
  /** The idempotency key of the call that asked for it. */
  readonly key: string;
  readonly kind: PaymentKind;
  readonly chainId: number;
  readonly token: string;
  readonly from: string;
  readonly to: string;
  readonly amount: bigint;
  /** What it is for, in the words of whoever asked; of an x402 payment the address that was paid for. */
  readonly purpose: string;
  readonly state: PaymentState;
  /** Place of the transaction among those of its wallet; undefined before it is signed and for x402. */
  readonly nonce: number | undefined;
  /** The signed form: a raw transaction, or an x402 payload as JSON. */
  readonly signed: string | undefined;
  /** The transaction, once known. */
  readonly hash: string | undefined;
  /** Why it failed, or what was last heard of it. */
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
  /** The key is known: this is what became of it. A reservation that ran out has been made again. */
  | { readonly kind: 'repeated'; readonly payment: Payment }
  | { readonly kind: 'over-limit'; readonly spent: bigint };

/** How far a payment got. What is left out stays as it is. */
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

/** One wallet's place on one chain. */
export interface WalletOnChain {
  readonly chainId: number;
  readonly from: string;
}

export interface Spending {
  /** The window's amounts of everything that is not `failed` and of every reservation that is not over. */
  readonly spent: bigint;
  /** When the oldest of them leaves the window; undefined when there is none. */
  readonly freesAt: number | undefined;
}

export interface OpenTransfers {
  /** What open transfers of the wallet will take from its balance. */
  readonly amount: bigint;
  readonly count: number;
  /** The lowest nonce that no transfer of the wallet holds or has used, as far as is known here; 0 without any. */
  readonly nextNonce: number;
}

/** Limits are counted over this time before now: a rolling day. */
export const LIMIT_WINDOW_MS = 24 * 60 * 60 * 1_000;

/** A reservation that is not signed within this time counts no more, and must be made again. */
export const RESERVATION_MS = 5 * 60 * 1_000;

/**
 * The durable record of payments. Every write is one transaction, resolves after commit, and rejects
 * with code `storage` when the database fails.
 */
export interface PaymentStore {
  /**
   * Reserves the amount against the owner's limit of a rolling day on that chain: looks and writes in one
   * transaction, so that no number of callers together gets more than `dailyLimit`.
   */
  reserve(payment: NewPayment, dailyLimit: bigint): Promise<Reservation>;
  /**
   * Keeps the signed form of a reservation, before anybody else sees it. False, with nothing written, when the
   * reservation is over or already signed, or when another transfer of that wallet holds the nonce. A refused payment
   * with the same hash has failed from then on: the transaction is that of this one now.
   */
  sign(scope: Scope, key: string, form: SignedForm): Promise<boolean>;
  /** Writes how far it got, from one of the states `from`. Undefined, with nothing written, in any other. */
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
  /** Open ones of every owner on that chain, oldest first; of transfers the order of their nonces. */
  listOpen(chainId: number, limit: number): Promise<readonly Payment[]>;
}

/** A person's wallet, to look after. Each owner has one; its key never comes out. */
export interface WalletKeeper {
  /** Rejects with `not-found` when there is none. */
  address(scope: Scope): Promise<string>;
  /**
   * Keeps this private key as the owner's wallet and resolves with its address. Rejects with `invalid-input` for what is
   * no private key, and with `conflict`, with nothing changed, when there is another wallet and it is not to be replaced.
   */
  import(scope: Scope, privateKey: string, options: { readonly replace: boolean }): Promise<string>;
}

/** USDC counts in millionths. */
export const DECIMALS = 6;
/** Gas is paid in the chain's own coin, which counts in 10^-18. */
export const GAS_DECIMALS = 18;

/** More than there is of any such token; it keeps sums far from what a database can count. */
const MOST_WHOLE_DIGITS = 12;
const PATTERN = /^(\d{1,12})(?:\.(\d{1,18}))?$/;

/** Why `text` is no amount of `decimals` places; undefined when it is one. Zero is one. */
export function amountProblem(text: string, decimals = DECIMALS): string | undefined {
  const match = PATTERN.exec(text);
  if (!match) {
    if (/^\d{13,}/.test(text)) return `is too large: at most ${MOST_WHOLE_DIGITS} digits before the point`;
    return 'must be a plain decimal number such as "0.50": digits and at most one point, no sign, exponent or unit';
  }
  if ((match[2] ?? '').length > decimals) return `has more than ${decimals} decimal places`;
  return undefined;
}

/** For a text without an `amountProblem`. */
export function toUnits(text: string, decimals = DECIMALS): bigint {
  const [whole, fraction = ''] = text.split('.');
  return BigInt(`${whole}${fraction.padEnd(decimals, '0')}`);
}
