import type { PrivateKeyAccount } from 'viem/accounts';
import { eth, usdc } from './amount.js';
import { LangoError } from '../../core/errors.js';
import type { Payment, PaymentStore } from '../../core/payment.js';
import { KeyedMutex } from '../../core/keyed-mutex.js';
import { loadViem, type Connection, type Hex } from './connection.js';
import { rpcRemark } from './failures.js';

export interface TransferOptions {
  readonly connection: Connection;
  readonly store: PaymentStore;
  /** What the gas of one transfer may cost at most, in the smallest unit of the chain's coin. */
  readonly maxGasCost: bigint;
}

/** A margin over what the chain says a transfer uses: what it writes may differ by the time it runs. */
const GAS_MARGIN_PERCENT = 130n;
const SIGNING_TRIES = 5;

/** Refusals after which a server has certainly kept nothing. Whatever else it says leaves the outcome open. */
const REFUSAL =
  /insufficient funds|gas required exceeds|intrinsic gas|exceeds (?:the )?block gas limit|max fee per gas less than block base fee|fee cap (?:less than|lower)|underpriced|gas price too low|type not supported|invalid sender|invalid chain id/i;
const ALREADY_THERE = /already known|already imported|known transaction|already in (?:the )?mempool/i;

/**
 * Signs transfers and hands them to the network. Of each wallet one at a time: it gets the next nonce, is kept in the
 * store, and only then leaves the process.
 */
export class Transfers {
  readonly #options: TransferOptions;
  readonly #transfers = new KeyedMutex();

  constructor(options: TransferOptions) {
    this.#options = options;
  }

  /**
   * Signs a reserved payment and sends it; resolves with how far it got. When somebody else signed it meanwhile, with
   * theirs. Whatever it throws, nothing was signed.
   */
  async signAndSend(reserved: Payment, account: PrivateKeyAccount, signal: AbortSignal): Promise<Payment> {
    const { connection } = this.#options;
    const data = await connection.transferData(reserved.to as Hex, reserved.amount);
    return this.#transfers.run(`${reserved.chainId}:${reserved.from}`, async () => {
      const signed = await this.#sign(reserved, { data, account, signal });
      return signed.state === 'signed' ? this.broadcast(signed) : signed;
    });
  }

  /** Throws unless the wallet can pay the amount and the gas as things stand. */
  async assertAffordable(payment: Outlay): Promise<void> {
    const data = await this.#options.connection.transferData(payment.to as Hex, payment.amount);
    await this.#terms(payment, data);
  }

  /** Sends what is signed, as it is stored. Doing it again is safe: it is the same transaction. */
  async broadcast(payment: Payment): Promise<Payment> {
    const { connection, store } = this.#options;
    let change: Parameters<PaymentStore['advance']>[2];
    try {
      await connection.sendRaw(payment.signed as Hex);
      change = { state: 'sent' };
    } catch (error) {
      const remark = rpcRemark(error);
      // No answer, or one that may mean anything: it stays signed, and is looked for later.
      if (remark === undefined) return payment;
      if (ALREADY_THERE.test(remark)) change = { state: 'sent' };
      else if (REFUSAL.test(remark)) change = { state: 'refused', note: `the network refused it: ${remark}` };
      else return payment;
    }
    return (await store.advance(payment, ['signed'], change)) ?? payment;
  }

  async #sign(reserved: Payment, { data, account, signal }: Signing): Promise<Payment> {
    const { connection, store } = this.#options;
    const { keccak256 } = await loadViem();
    signal.throwIfAborted();
    const terms = await this.#terms(reserved, data);
    for (let tries = 0; tries < SIGNING_TRIES; tries += 1) {
      const nonce = await this.#nextNonce(reserved);
      const signed = await account.signTransaction({
        type: 'eip1559',
        chainId: reserved.chainId,
        to: await connection.token(),
        data,
        nonce,
        ...terms,
      });
      const hash = keccak256(signed);
      // From here on it happens: there is no way back from a signature that is kept.
      signal.throwIfAborted();
      if (await store.sign(reserved, reserved.key, { signed, nonce, hash })) {
        return { ...reserved, state: 'signed', signed, nonce, hash };
      }
      const now = await store.get(reserved, reserved.key);
      if (now && now.state !== 'reserved') return now;
    }
    throw new LangoError('conflict', 'The payment could not be given its place among the others.', {
      hint: 'Nothing was signed. Try again.',
      retryable: true,
    });
  }

  async #nextNonce({ from, chainId }: Payment): Promise<number> {
    const { connection, store } = this.#options;
    const [counted, { nextNonce }] = await Promise.all([
      connection.transactionCount(from as Hex, 'pending'),
      store.openTransfers({ chainId, from }),
    ]);
    return Math.max(counted, nextNonce);
  }

  /** Gas and fees, once it is clear that the wallet can pay the amount and them. */
  async #terms({ from, amount, chainId }: Outlay, data: Hex) {
    const { connection, store, maxGasCost } = this.#options;
    const [{ tokens, gas: coins }, open, fees] = await Promise.all([
      connection.balances(from as Hex),
      store.openTransfers({ chainId, from }),
      connection.fees(),
    ]);
    const free = tokens - open.amount;
    if (free < amount) {
      const waiting = open.amount === 0n ? '' : ` (${usdc(open.amount)} more is on its way out)`;
      throw insufficient(
        `it holds ${usdc(free < 0n ? 0n : free)}${waiting} and ${usdc(amount)} is needed`,
        `Send USDC to ${from} first.`,
      );
    }
    const gas = ((await this.#gasFor(from as Hex, data)) * GAS_MARGIN_PERCENT) / 100n;
    const cost = gas * fees.maxFeePerGas;
    if (cost > maxGasCost) {
      throw new LangoError(
        'limit-reached',
        `The gas of this payment would cost up to ${eth(cost)}; the limit is ${eth(maxGasCost)}.`,
        {
          hint: 'Try again when the network is calmer, or raise payment.limits.gasCost. Nothing was sent.',
        },
      );
    }
    const needed = cost * BigInt(open.count + 1);
    if (coins < needed) {
      throw insufficient(
        `it holds ${eth(coins)} and up to ${eth(needed)} is needed for gas`,
        `Send a little ETH on this network to ${from} first.`,
      );
    }
    return { gas, ...fees };
  }

  async #gasFor(from: Hex, data: Hex): Promise<bigint> {
    const { connection } = this.#options;
    try {
      return await connection.estimateGas(from, data);
    } catch (error) {
      const remark = rpcRemark(error instanceof LangoError ? error.cause : error);
      if (remark === undefined || !/revert/i.test(remark)) throw error;
      throw new LangoError('tool', `The token would not make this transfer: ${remark}`, {
        hint: 'The payee or the wallet may be blocked, or the token paused. Nothing was sent.',
        cause: error,
      });
    }
  }
}

type Outlay = Pick<Payment, 'chainId' | 'from' | 'to' | 'amount'>;

interface Signing {
  readonly data: Hex;
  readonly account: PrivateKeyAccount;
  readonly signal: AbortSignal;
}

function insufficient(text: string, hint: string): LangoError {
  return new LangoError('tool', `The wallet has not enough: ${text}.`, { hint: `${hint} Nothing was sent.` });
}
