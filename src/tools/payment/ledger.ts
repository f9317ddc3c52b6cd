import { setTimeout as sleep } from 'node:timers/promises';
import { errorText } from '../../core/errors.js';
import type { Logger } from '../../core/logger.js';
import {
  isOpen,
  type Payment,
  type PaymentChange,
  type PaymentState,
  type PaymentStore,
} from '../../stores/payments.js';
import type { Connection, Hex, Receipt } from './connection.js';
import type { Transfers } from './transfer.js';
import { authorizationOf, isSameAddress } from './x402.js';

export interface LedgerOptions {
  readonly connection: Connection;
  readonly store: PaymentStore;
  readonly transfers: Transfers;
  readonly confirmations: number;
  readonly logger: Logger;
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;
const PAUSE_GROWTH = 1.5;
/** Maximum open payments settled in one round. */
const MOST_AT_ONCE = 200;
const FIRST_AGAIN_MS = 15_000;
const LONGEST_AGAIN_MS = 600_000;

/**
 * Determines the outcome of open payments from the chain and the store. It resends signed transactions, and never
 * signs.
 */
export class Ledger {
  readonly #options: LedgerOptions;
  readonly #closed = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> | undefined;
  #againMs = FIRST_AGAIN_MS;

  constructor(options: LedgerOptions) {
    this.#options = options;
  }

  /**
   * Queries the outcome once and stores it. Resends a transfer that no block contains while its state is in `resend`.
   * Rejects when the chain cannot be queried.
   */
  async refresh(payment: Payment, resend: readonly PaymentState[] = ['signed']): Promise<Payment> {
    if (!isOpen(payment.state)) return payment;
    const { connection, store, transfers, confirmations } = this.#options;
    const outcome = await queryOutcome(payment, connection, confirmations);
    if (outcome.state !== 'open') {
      const settled = await store.advance(payment, [payment.state, 'sent'], outcome);
      return settled ?? (await store.get(payment, payment.key)) ?? payment;
    }
    const isLost = outcome.isUnseen === true && resend.includes(payment.state);
    return { ...(isLost ? await transfers.broadcast(payment) : payment), note: payment.note ?? outcome.note };
  }

  /** Like `refresh`, but a chain that cannot be queried is only noted. */
  tryRefresh(payment: Payment, resend?: readonly PaymentState[]): Promise<Payment> {
    return this.refresh(payment, resend).catch((error: unknown) => ({ ...payment, note: errorText(error) }));
  }

  /** Queries until the outcome is known or `ms` have passed. Then the payment stays open. */
  async waitForOutcome(
    payment: Payment,
    { ms, signal }: { readonly ms: number; readonly signal: AbortSignal },
  ): Promise<Payment> {
    const until = Date.now() + ms;
    let current = payment;
    for (
      let pause = FIRST_PAUSE_MS;
      isOpen(current.state);
      pause = Math.min(pause * PAUSE_GROWTH, LONGEST_PAUSE_MS)
    ) {
      signal.throwIfAborted();
      current = await this.tryRefresh(current);
      if (!isOpen(current.state) || current.state === 'refused' || Date.now() + pause > until) break;
      await sleep(pause, undefined, { signal });
    }
    return current;
  }

  /**
   * Settles the open payments of every owner on this chain, and repeats in the background until none is open. Does not
   * even load the chain client when there is nothing to do. Never rejects.
   */
  async settleOpenPayments(): Promise<void> {
    this.#round ??= this.#settleAll().finally(() => (this.#round = undefined));
    return this.#round;
  }

  close(): void {
    this.#closed.abort();
    clearTimeout(this.#timer);
  }

  async #settleAll(): Promise<void> {
    const { connection, store, logger } = this.#options;
    let isAnyOpen = true;
    try {
      const open = await store.listOpen(connection.network.chainId, MOST_AT_ONCE);
      for (const payment of open) {
        if (this.#closed.signal.aborted) return;
        const { state, hash, note } = await this.refresh(payment, ['signed', 'sent']);
        if (!isOpen(state)) this.#againMs = FIRST_AGAIN_MS;
        if (!isOpen(state)) logger.info('a payment is settled', { state, hash, note });
      }
      isAnyOpen = (await store.listOpen(connection.network.chainId, 1)).length > 0;
    } catch (error) {
      if (this.#closed.signal.aborted) return;
      logger.warn('open payments could not be queried', { error: errorText(error) });
    }
    clearTimeout(this.#timer);
    if (isAnyOpen && !this.#closed.signal.aborted) {
      this.#timer = setTimeout(() => void this.settleOpenPayments(), this.#againMs);
      this.#timer.unref();
      this.#againMs = Math.min(2 * this.#againMs, LONGEST_AGAIN_MS);
    }
  }
}

/** The outcome of a payment on the chain; `open` with what is known so far. */
type Outcome =
  | (PaymentChange & { readonly state: 'confirmed' | 'failed' })
  | {
      readonly state: 'open';
      readonly note: string;
      /** No block contains the transaction, so sending it again may help. */
      readonly isUnseen?: true;
    };

/** How often a missing receipt is queried before a payment counts as replaced: servers differ by a block or two. */
const RECEIPT_QUERIES = 5;
const RECEIPT_PAUSE_MS = 1_000;

/** Queries the outcome once. Rejects when the chain cannot be queried. */
async function queryOutcome(
  payment: Payment,
  connection: Connection,
  confirmations: number,
): Promise<Outcome> {
  if (!isOpen(payment.state)) return { state: 'open', note: 'it is not signed' };
  return payment.kind === 'x402'
    ? queryAuthorization(payment, connection)
    : queryTransfer(payment, connection, confirmations);
}

async function queryTransfer(
  payment: Payment,
  connection: Connection,
  confirmations: number,
): Promise<Outcome> {
  const from = payment.from as Hex;
  const hash = payment.hash as Hex;
  for (let query = 1; ; query += 1) {
    const receipt = await connection.receipt(hash);
    if (receipt) {
      const { number } = await connection.head();
      const depth = Number(number - receipt.block) + 1;
      if (depth < confirmations)
        return {
          state: 'open',
          note: `in block ${receipt.block}, ${depth} of ${confirmations} confirmations`,
        };
      if (!receipt.isSuccess)
        return { state: 'failed', note: `reverted in block ${receipt.block}: no USDC moved` };
      if (receipt.transfers.some((transfer) => isTransferOf(transfer, payment))) {
        return { state: 'confirmed', note: `block ${receipt.block}` };
      }
      return {
        state: 'failed',
        note: `block ${receipt.block} contains the transaction, but the token reports no such transfer`,
      };
    }
    const used = await connection.transactionCount(from, 'latest');
    if (used <= payment.nonce!) return { state: 'open', note: 'no block contains it yet', isUnseen: true };
    // The nonce is used: by this transaction, unless its receipt stays missing.
    if (query === RECEIPT_QUERIES) {
      return {
        state: 'failed',
        note: 'another transaction of this wallet used its nonce: it can never be confirmed',
      };
    }
    await sleep(RECEIPT_PAUSE_MS);
  }
}

async function queryAuthorization(payment: Payment, connection: Connection): Promise<Outcome> {
  const { nonce, validBefore } = authorizationOf(payment.signed!);
  // The time is read before the state: an authorization that is not redeemed in a block after its expiry never will be.
  const { seconds } = await connection.head();
  if (await connection.isRedeemed(payment.from as Hex, nonce))
    return { state: 'confirmed', note: 'the payee redeemed it' };
  if (seconds >= BigInt(validBefore)) return { state: 'failed', note: 'it expired unused: no USDC moved' };
  return { state: 'open', note: 'the payee has not redeemed it yet' };
}

/** Whether a transfer matches the payment. */
export function isTransferOf({ from, to, value }: Receipt['transfers'][number], payment: Payment): boolean {
  return isSameAddress(from, payment.from) && isSameAddress(to, payment.to) && value === payment.amount;
}
