import { errorText } from '../../core/errors.js';
import { backoffMs, pause, Timer } from '../../core/time.js';
import { isOpen, type Payment, type PaymentChange, type PaymentState } from './payment-store.js';
import { rpcRemark, type Connection, type Hex, type Receipt } from './connection.js';
import type { PaymentContext } from './context.js';
import { isSameAddress, readSigned } from './x402.js';

const PAUSES = { firstMs: 100, longestMs: 2_000, growth: 1.5 };
const MAX_PAYMENTS_PER_ROUND = 200;
const ROUNDS = { firstMs: 15_000, longestMs: 600_000 };

/** Refusals after which the server has certainly discarded the transaction. Any other response leaves the outcome open. */
const REFUSAL =
  /insufficient funds|gas required exceeds|intrinsic gas|exceeds (?:the )?block gas limit|max fee per gas less than block base fee|fee cap (?:less than|lower)|underpriced|gas price too low|type not supported|invalid sender|invalid chain id/i;
const ALREADY_KNOWN = /already known|already imported|known transaction|already in (?:the )?mempool/i;

/** Sends signed transactions, and determines the outcome of open payments from the chain and the store. It never signs. */
export class Ledger {
  readonly #context: PaymentContext;
  #isClosed = false;
  #timer: Timer | undefined;
  #idleRounds = 0;

  constructor(context: PaymentContext) {
    this.#context = context;
  }

  /** Sends the stored signed transaction. Sending it again is safe because it is the same transaction. */
  async broadcast(payment: Payment): Promise<Payment> {
    const { connection, store } = this.#context;
    let change: PaymentChange = { state: 'sent' };
    try {
      await connection.sendRaw(payment.signed as Hex);
    } catch (error) {
      const remark = rpcRemark(error) ?? '';
      if (REFUSAL.test(remark)) change = { state: 'refused', note: `the network refused it: ${remark}` };
      // Without a clear response the payment stays signed and is queried later.
      else if (!ALREADY_KNOWN.test(remark)) return payment;
    }
    return (await store.advance(payment, ['signed'], change)) ?? payment;
  }

  /**
   * Queries the outcome once and stores it. Resends a transfer that no block contains while its state is in `resend`.
   * Rejects when the chain cannot be queried.
   */
  async refresh(payment: Payment, resend: readonly PaymentState[] = ['signed']): Promise<Payment> {
    if (!isOpen(payment.state)) return payment;
    const { connection, store, confirmations } = this.#context;
    const outcome = await (payment.kind === 'x402'
      ? queryAuthorization(payment, connection)
      : queryTransfer(payment, connection, confirmations));
    if (outcome.state !== 'open') {
      const settled = await store.advance(payment, [payment.state, 'sent'], outcome);
      return settled ?? (await store.get(payment, payment.key)) ?? payment;
    }
    const isLost = outcome.isUnseen === true && resend.includes(payment.state);
    return { ...(isLost ? await this.broadcast(payment) : payment), note: payment.note ?? outcome.note };
  }

  /** Like `refresh`, but resolves with the payment and a note when the chain cannot be queried. */
  tryRefresh(payment: Payment, resend?: readonly PaymentState[]): Promise<Payment> {
    return this.refresh(payment, resend).catch((error: unknown) => ({ ...payment, note: errorText(error) }));
  }

  /** Queries until the outcome is known or `confirmMs` are over, after which the payment stays open. */
  async waitForOutcome(payment: Payment, signal: AbortSignal): Promise<Payment> {
    const until = Date.now() + this.#context.confirmMs;
    let current = payment;
    for (let queries = 1; isOpen(current.state); queries += 1) {
      signal.throwIfAborted();
      current = await this.tryRefresh(current);
      const pauseMs = backoffMs(queries, PAUSES);
      if (!isOpen(current.state) || current.state === 'refused' || Date.now() + pauseMs > until) break;
      await pause(pauseMs, { signal });
    }
    return current;
  }

  /**
   * Settles the open payments of every owner on this chain, and repeats in the background until none is open. Does not
   * even load the chain client when there is nothing to do. Never rejects.
   */
  async settleOpenPayments(): Promise<void> {
    const { connection, store, logger } = this.#context;
    const { chainId } = connection.network;
    let hasOpenPayments = true;
    try {
      for (const payment of await store.listOpen(chainId, MAX_PAYMENTS_PER_ROUND)) {
        if (this.#isClosed) return;
        const { state, hash, note } = await this.refresh(payment, ['signed', 'sent']);
        if (isOpen(state)) continue;
        this.#idleRounds = 0;
        logger.info('a payment is settled', { state, hash, note });
      }
      hasOpenPayments = (await store.listOpen(chainId, 1)).length > 0;
    } catch (error) {
      if (!this.#isClosed) logger.warn('open payments could not be queried', { error: errorText(error) });
    }
    if (this.#isClosed || !hasOpenPayments) return;
    this.#idleRounds += 1;
    const roundMs = backoffMs(this.#idleRounds, ROUNDS);
    this.#timer = new Timer(roundMs, () => void this.settleOpenPayments(), { ref: false });
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
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

/** The number of queries for a missing receipt before a payment counts as replaced: servers differ by a block or two. */
const RECEIPT_QUERIES = 5;
const RECEIPT_PAUSE_MS = 1_000;

async function queryTransfer(
  payment: Payment,
  connection: Connection,
  confirmations: number,
): Promise<Outcome> {
  for (let query = 1; ; query += 1) {
    const receipt = await connection.receipt(payment.hash as Hex);
    if (receipt) {
      const { block, isSuccess, transfers } = receipt;
      const depth = Number((await connection.head()).number - block) + 1;
      if (depth < confirmations)
        return { state: 'open', note: `in block ${block}, ${depth} of ${confirmations} confirmations` };
      if (!isSuccess) return failed(`reverted in block ${block}: no USDC moved`);
      if (transfers.some((transfer) => isTransferOf(transfer, payment)))
        return { state: 'confirmed', note: `block ${block}` };
      return failed(`block ${block} contains the transaction, but the token reports no such transfer`);
    }
    const used = await connection.transactionCount(payment.from as Hex, 'latest');
    if (used <= payment.nonce!) return { state: 'open', note: 'no block contains it yet', isUnseen: true };
    // The nonce is used: by this transaction, unless its receipt stays missing.
    if (query === RECEIPT_QUERIES)
      return failed('another transaction of this wallet used its nonce: it can never be confirmed');
    await pause(RECEIPT_PAUSE_MS);
  }
}

function failed(note: string): Outcome {
  return { state: 'failed', note };
}

async function queryAuthorization(payment: Payment, connection: Connection): Promise<Outcome> {
  const { nonce, validBefore } = readSigned(payment.signed!).authorization;
  // Reads the chain's time before the state, so that an authorization that is still not redeemed after its expiry never
  // can be.
  const { seconds } = await connection.head();
  if (await connection.isRedeemed(payment.from as Hex, nonce))
    return { state: 'confirmed', note: 'the payee redeemed it' };
  if (seconds >= BigInt(validBefore)) return failed('it expired unused: no USDC moved');
  return { state: 'open', note: 'the payee has not redeemed it yet' };
}

/** Whether a transfer matches the payment. */
export function isTransferOf({ from, to, value }: Receipt['transfers'][number], payment: Payment): boolean {
  return isSameAddress(from, payment.from) && isSameAddress(to, payment.to) && value === payment.amount;
}
