import { errorText, LangoError } from '../../core/errors.js';
import { KeyedMutex } from '../../core/keyed-mutex.js';
import type { Scope } from '../../core/task.js';
import type { Payment } from './payment-store.js';
import { usdc } from './amount.js';
import type { PaymentContext } from './context.js';
import type { Ledger } from './ledger.js';
import { priceTransfer, signTransfer } from './transfer.js';

export interface PaymentOrder extends Scope {
  readonly key: string;
  readonly to: string;
  readonly amount: bigint;
  readonly purpose: string;
}

const ZERO_ADDRESS = /^0x0{40}$/i;

/** Pays orders. One order leads to at most one transfer, also after repeated calls and crashes. */
export class Payer {
  readonly #context: PaymentContext;
  readonly #ledger: Ledger;
  readonly #sending = new KeyedMutex();

  constructor(context: PaymentContext, ledger: Ledger) {
    this.#context = context;
    this.#ledger = ledger;
  }

  /**
   * Pays an order and resolves with its outcome, which stays open when the chain does not confirm in time. If the promise
   * rejects, nothing was signed and nothing stays reserved.
   */
  async pay(order: PaymentOrder, signal: AbortSignal): Promise<Payment> {
    const known = await this.#context.store.get(order, order.key);
    if (known && known.state !== 'reserved') return this.resume(known, signal);
    const { payment, account } = await this.reserve(order, 'transfer');
    if (payment.state !== 'reserved') return this.resume(payment, signal);
    // A wallet signs and sends one transfer at a time, so that its nonces reach the network in order.
    const sent = await this.releaseOnError(payment, () =>
      this.#sending.run(`${payment.chainId}:${payment.from}`, async () => {
        const signed = await signTransfer(payment, { ...this.#context, account, signal });
        return signed.state === 'signed' ? this.#ledger.broadcast(signed) : signed;
      }),
    );
    return this.#ledger.waitForOutcome(sent, signal);
  }

  /** Waits for the outcome of a payment that an earlier attempt signed. */
  async resume(payment: Payment, signal: AbortSignal): Promise<Payment> {
    const { chainId } = this.#context.connection.network;
    if (payment.chainId === chainId) return this.#ledger.waitForOutcome(payment, signal);
    const text = `This payment was started on chain ${payment.chainId}, but chain ${chainId} is configured now.`;
    const hint = 'Restore payment.network to see the outcome. Nothing was sent again.';
    throw new LangoError('conflict', text, { hint });
  }

  /** Rejects with the reason when the order cannot be paid now. Reserves and signs nothing. */
  async assertPayable(order: Omit<PaymentOrder, 'key' | 'purpose'>): Promise<void> {
    const { connection, store, limits } = this.#context;
    const { account, to } = await this.assertPayee(order, order.to);
    this.#assertPerTransaction(order.amount);
    const { chainId } = connection.network;
    const { spent } = await store.spending(order, chainId);
    if (spent + order.amount > limits.daily) throw this.#overDaily(order.amount, spent);
    await priceTransfer({ chainId, from: account.address, to, amount: order.amount }, this.#context);
  }

  /**
   * Resolves with the owner's wallet and the checksummed address of the payee. Rejects without a wallet, and for a payee
   * that must not be paid.
   */
  async assertPayee(scope: Scope, address: string) {
    const { connection, wallets } = this.#context;
    const account = await wallets.require(scope);
    const to = await connection.checksum(address);
    let why: string | undefined;
    if (ZERO_ADDRESS.test(to)) why = 'is the zero address: funds sent there are lost';
    else if (to === account.address) why = 'is the address of this wallet itself';
    else if (to === (await connection.token()))
      why = 'is the contract of the token: funds sent there are lost';
    if (why !== undefined) throw new LangoError('invalid-input', `to: ${to} ${why}.`);
    return { account, to };
  }

  /**
   * Reserves the amount within both limits. Rejects with `limit-reached` and reserves nothing otherwise. For a known
   * key, resolves with the existing payment.
   */
  async reserve(order: PaymentOrder, kind: Payment['kind']) {
    const { connection, limits, store } = this.#context;
    const { tenant, owner, key, amount, purpose } = order;
    const { account, to } = await this.assertPayee(order, order.to);
    this.#assertPerTransaction(amount);
    const { chainId } = connection.network;
    const token = await connection.token();
    const request = { tenant, owner, key, kind, chainId, token, from: account.address, to, amount, purpose };
    const reservation = await store.reserve(request, limits.daily);
    if (reservation.kind === 'over-limit') throw this.#overDaily(amount, reservation.spent);
    return { payment: reservation.payment, account };
  }

  /** Runs `work` and releases the reservation when it throws. */
  async releaseOnError<Result>(payment: Payment, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      const note = `nothing was signed: ${errorText(error)}`;
      await this.#context.store.advance(payment, ['reserved'], { state: 'failed', note });
      throw error;
    }
  }

  #assertPerTransaction(amount: bigint): void {
    const { perTransaction } = this.#context.limits;
    if (amount <= perTransaction) return;
    const text = `amount: ${usdc(amount)} exceeds the limit for one payment, ${usdc(perTransaction)}.`;
    const hint = 'Only the operator can raise it: payment.limits.perTransaction. Nothing was sent.';
    throw new LangoError('limit-reached', text, { hint });
  }

  #overDaily(amount: bigint, spent: bigint): LangoError {
    const { daily } = this.#context.limits;
    const left = spent < daily ? daily - spent : 0n;
    const text = `amount: ${usdc(amount)} exceeds the limit of ${usdc(daily)} in any 24 hours; ${usdc(left)} is left.`;
    const hint = 'Wait, or ask the operator to raise payment.limits.daily. Nothing was sent.';
    return new LangoError('limit-reached', text, { hint });
  }
}
