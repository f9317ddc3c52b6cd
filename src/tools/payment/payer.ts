import { usdc } from './amount.js';
import { errorText, LangoError } from '../../core/errors.js';
import type { NewPayment, Payment, PaymentStore } from '../../core/payment.js';
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
  /** How long a call waits for the network to confirm. */
  readonly confirmMs: number;
}

export interface PaymentOrder extends Scope {
  readonly key: string;
  readonly to: string;
  readonly amount: bigint;
  readonly purpose: string;
}

const ZERO_ADDRESS = /^0x0{40}$/i;

/** Pays: one order, one transfer at most, however often it is asked for and whatever dies in between. */
export class Payer {
  readonly #options: PayerOptions;

  constructor(options: PayerOptions) {
    this.#options = options;
  }

  /**
   * Resolves with what became of it, also when that is not known yet (its state is open then). Whatever it throws,
   * nothing was signed and nothing stays reserved.
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

  /** Throws what stands against paying it now; reserves and signs nothing. */
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

  /** Throws unless the owner has a wallet and may pay this payee. */
  async assertPayee(scope: Scope, to: string): Promise<void> {
    const { address } = await this.#options.wallets.require(scope);
    await this.resolvePayee(to, address);
  }

  /** What became of a payment that was signed in an earlier attempt. */
  async resume(payment: Payment, signal: AbortSignal): Promise<Payment> {
    const { connection, ledger, confirmMs } = this.#options;
    const { chainId } = connection.network;
    if (payment.chainId !== chainId) {
      throw new LangoError(
        'conflict',
        `This payment was begun on chain ${payment.chainId}, and now chain ${chainId} is configured.`,
        {
          hint: 'Set payment.network back to see what became of it. Nothing was sent anew.',
        },
      );
    }
    return ledger.waitForOutcome(payment, { ms: confirmMs, signal });
  }

  /** The checksummed address of a payee that may be paid. */
  async resolvePayee(text: string, own: Hex): Promise<Hex> {
    const { connection } = this.#options;
    const to = await connection.checksum(text, 'to');
    const why = ZERO_ADDRESS.test(to)
      ? 'is the zero address: what is sent there is lost'
      : to === own
        ? 'is the address of this wallet itself'
        : to === (await connection.token())
          ? 'is the contract of the token: what is sent there is lost'
          : undefined;
    if (why !== undefined) throw new LangoError('invalid-input', `to: ${to} ${why}.`);
    return to;
  }

  /** Within both limits, or throws `limit-reached` with nothing reserved. A key that is known gives what became of it. */
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
      `amount: ${usdc(amount)} is more than the limit for one payment, ${usdc(perTransaction)}.`,
      { hint: 'Only the operator can raise it: payment.limits.perTransaction. Nothing was sent.' },
    );
  }

  #overDaily(amount: bigint, spent: bigint): LangoError {
    const { daily } = this.#options.limits;
    const left = spent < daily ? daily - spent : 0n;
    return new LangoError(
      'limit-reached',
      `amount: ${usdc(amount)} is more than what is left of the limit of ${usdc(daily)} in any 24 hours: ${usdc(left)}.`,
      { hint: 'Wait, or let the operator raise payment.limits.daily. Nothing was sent.' },
    );
  }

  /** Gives the reservation back when `work` throws. */
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

/** What the tools of this family work with. */
export interface PaymentServices {
  readonly connection: Connection;
  readonly store: PaymentStore;
  readonly wallets: Wallets;
  readonly ledger: Ledger;
  readonly payer: Payer;
  readonly limits: PaymentLimits;
  /** The time that a call which only asks may take. */
  readonly queryTimeoutMs: number;
  /** The time that a call which pays may take. */
  readonly paymentTimeoutMs: number;
}
