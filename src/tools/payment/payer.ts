import { usdc } from './amount.js';
import { errorText, LangoError } from '../../core/errors.js';
import type { NewPayment, Payment, PaymentStore } from '../../stores/payments.js';
import type { Scope } from '../../core/task.js';
import type { Connection, Hex } from './connection.js';
import type { Ledger } from './ledger.js';
import type { Transfers } from './transfer.js';
import type { Wallets } from './wallets.js';

/** Amounts in the token's smallest unit. */
export interface PaymentLimits {
  readonly perTransaction: bigint;
  readonly daily: bigint;
}

export interface PayerOptions {
  readonly connection: Connection;
  readonly store: PaymentStore;
  readonly wallets: Wallets;
  readonly transfers: Transfers;
  readonly ledger: Ledger;
  readonly limits: PaymentLimits;
  /** How long a call waits for confirmation by the network. */
  readonly confirmMs: number;
}

export interface PaymentOrder extends Scope {
  readonly key: string;
  readonly to: string;
  readonly amount: bigint;
  readonly purpose: string;
}

const ZERO_ADDRESS = /^0x0{40}$/i;

/** Pays orders. One order leads to at most one transfer, also after repeated calls and crashes. */
export class Payer {
  readonly #options: PayerOptions;

  constructor(options: PayerOptions) {
    this.#options = options;
  }

  /**
   * Pays an order and resolves with its outcome; the state stays open when the outcome is not known in time. When it
   * rejects, nothing was signed and nothing stays reserved.
   */
  async pay(order: PaymentOrder, signal: AbortSignal): Promise<Payment> {
    const { store, wallets, transfers, ledger, confirmMs } = this.#options;
    const known = await store.get(order, order.key);
    if (known && known.state !== 'reserved') return this.resume(known, signal);
    const account = await wallets.require(order);
    const to = await this.resolvePayee(order.to, account.address);
    const payment = await this.reserve({ ...order, kind: 'transfer', from: account.address, to });
    if (payment.state !== 'reserved') return this.resume(payment, signal);
    const launched = await this.releaseOnError(payment, () =>
      transfers.signAndSend(payment, account, signal),
    );
    return ledger.waitForOutcome(launched, { ms: confirmMs, signal });
  }

  /** Rejects with the reason when the order cannot be paid now. Reserves and signs nothing. */
  async assertPayable(order: Omit<PaymentOrder, 'key' | 'purpose'>): Promise<void> {
    const { connection, store, wallets, transfers, limits } = this.#options;
    const { address: from } = await wallets.require(order);
    const to = await this.resolvePayee(order.to, from);
    this.#assertPerTransaction(order.amount);
    const { chainId } = connection.network;
    const { spent } = await store.spending(order, chainId);
    if (spent + order.amount > limits.daily) throw this.#overDaily(order.amount, spent);
    await transfers.assertAffordable({ chainId, from, to, amount: order.amount });
  }

  /** Rejects unless the owner has a wallet and may pay this payee. */
  async assertPayee(scope: Scope, to: string): Promise<void> {
    const { address } = await this.#options.wallets.require(scope);
    await this.resolvePayee(to, address);
  }

  /** Waits for the outcome of a payment that an earlier attempt signed. */
  async resume(payment: Payment, signal: AbortSignal): Promise<Payment> {
    const { connection, ledger, confirmMs } = this.#options;
    const { chainId } = connection.network;
    if (payment.chainId !== chainId) {
      throw new LangoError(
        'conflict',
        `This payment was started on chain ${payment.chainId}, but chain ${chainId} is configured now.`,
        {
          hint: 'Restore payment.network to see the outcome. Nothing was sent again.',
        },
      );
    }
    return ledger.waitForOutcome(payment, { ms: confirmMs, signal });
  }

  /** Returns the checksummed address of a payee. Rejects for a payee that must not be paid. */
  async resolvePayee(text: string, own: Hex): Promise<Hex> {
    const { connection } = this.#options;
    const to = await connection.checksum(text, 'to');
    const why = ZERO_ADDRESS.test(to)
      ? 'is the zero address: funds sent there are lost'
      : to === own
        ? 'is the address of this wallet itself'
        : to === (await connection.token())
          ? 'is the contract of the token: funds sent there are lost'
          : undefined;
    if (why !== undefined) throw new LangoError('invalid-input', `to: ${to} ${why}.`);
    return to;
  }

  /**
   * Reserves the amount within both limits. Rejects with `limit-reached` and reserves nothing otherwise. For a known
   * key, resolves with the existing payment.
   */
  async reserve(order: Omit<NewPayment, 'chainId' | 'token'>): Promise<Payment> {
    const { connection, limits, store } = this.#options;
    this.#assertPerTransaction(order.amount);
    const { chainId } = connection.network;
    const { tenant, owner, key, kind, from, to, amount, purpose } = order;
    const request = {
      tenant,
      owner,
      key,
      kind,
      from,
      to,
      amount,
      purpose,
      chainId,
      token: await connection.token(),
    };
    const reservation = await store.reserve(request, limits.daily);
    if (reservation.kind !== 'over-limit') return reservation.payment;
    throw this.#overDaily(amount, reservation.spent);
  }

  #assertPerTransaction(amount: bigint): void {
    const { perTransaction } = this.#options.limits;
    if (amount <= perTransaction) return;
    throw new LangoError(
      'limit-reached',
      `amount: ${usdc(amount)} exceeds the limit for one payment, ${usdc(perTransaction)}.`,
      { hint: 'Only the operator can raise it: payment.limits.perTransaction. Nothing was sent.' },
    );
  }

  #overDaily(amount: bigint, spent: bigint): LangoError {
    const { daily } = this.#options.limits;
    const left = spent < daily ? daily - spent : 0n;
    return new LangoError(
      'limit-reached',
      `amount: ${usdc(amount)} exceeds the limit of ${usdc(daily)} in any 24 hours; ${usdc(left)} is left.`,
      { hint: 'Wait, or ask the operator to raise payment.limits.daily. Nothing was sent.' },
    );
  }

  /** Runs `work` and releases the reservation when it throws. */
  async releaseOnError<Result>(payment: Payment, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      const note = `nothing was signed: ${errorText(error)}`;
      await this.#options.store.advance(payment, ['reserved'], { state: 'failed', note });
      throw error;
    }
  }
}

/** The services that the payment tools share. */
export interface PaymentServices {
  readonly connection: Connection;
  readonly store: PaymentStore;
  readonly wallets: Wallets;
  readonly ledger: Ledger;
  readonly payer: Payer;
  readonly limits: PaymentLimits;
  /** Time limit of a call that only queries. */
  readonly queryTimeoutMs: number;
  /** Time limit of a call that pays. */
  readonly paymentTimeoutMs: number;
}
