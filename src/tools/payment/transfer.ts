import type { PrivateKeyAccount } from 'viem/accounts';
import { eth, usdc } from './amount.js';
import { LangoError } from '../../core/errors.js';
import type { Payment, PaymentStore } from '../../stores/payments.js';
import { KeyedMutex } from '../../core/keyed-mutex.js';
import { loadViem, type Connection, type Hex } from './connection.js';
import { rpcRemark } from './failures.js';

export interface TransferOptions {
  readonly connection: Connection;
  readonly store: PaymentStore;
  /** Maximum gas cost of one transfer, in the smallest unit of the chain's coin. */
  readonly maxGasCost: bigint;
}

/** Margin over the estimated gas: the state that a transfer writes may change before it runs. */
const GAS_MARGIN_PERCENT = 130n;
const SIGNING_TRIES = 5;

/**
 * Refusals after which the server has certainly discarded the transaction. Any other answer leaves the outcome open.
 */
const REFUSAL =
  /insufficient funds|gas required exceeds|intrinsic gas|exceeds (?:the )?block gas limit|max fee per gas less than block base fee|fee cap (?:less than|lower)|underpriced|gas price too low|type not supported|invalid sender|invalid chain id/i;
const ALREADY_THERE = /already known|already imported|known transaction|already in (?:the )?mempool/i;

/**
 * Signs transfers and sends them to the network, one at a time for each wallet. A transfer gets the next nonce, is
 * stored, and only then leaves the process.
 */
export class Transfers {
  readonly #options: TransferOptions;
  readonly #transfers = new KeyedMutex();

  constructor(options: TransferOptions) {
    this.#options = options;
  }

  /**
   * Signs a reserved payment and sends it. Resolves with its state, or with the other payment when another process
   * signed it meanwhile. When it rejects, nothing was signed.
   */
  async signAndSend(reserved: Payment, account: PrivateKeyAccount, signal: AbortSignal): Promise<Payment> {
    const { connection } = this.#options;
    const data = await connection.transferData(reserved.to as Hex, reserved.amount);
    return this.#transfers.run(`${reserved.chainId}:${reserved.from}`, async () => {
      const signed = await this.#sign(reserved, { data, account, signal });
      return signed.state === 'signed' ? this.broadcast(signed) : signed;
    });
  }

  /** Rejects unless the wallet can pay the amount and the gas now. */
  async assertAffordable(payment: Outlay): Promise<void> {
    const data = await this.#options.connection.transferData(payment.to as Hex, payment.amount);
    await this.#terms(payment, data);
  }

  /** Sends the stored signed transaction. Sending it again is safe because it is the same transaction. */
  async broadcast(payment: Payment): Promise<Payment> {
    const { connection, store } = this.#options;
    let change: Parameters<PaymentStore['advance']>[2];
    try {
      await connection.sendRaw(payment.signed as Hex);
      change = { state: 'sent' };
    } catch (error) {
      const remark = rpcRemark(error);
      // Without a clear answer the payment stays signed and is queried later.
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
      // A stored signature cannot be taken back.
      signal.throwIfAborted();
      if (await store.sign(reserved, reserved.key, { signed, nonce, hash })) {
        return { ...reserved, state: 'signed', signed, nonce, hash };
      }
      const now = await store.get(reserved, reserved.key);
      if (now && now.state !== 'reserved') return now;
    }
    throw new LangoError(
      'conflict',
      'The payment got no free nonce, because other payments of this wallet took each one first.',
      {
        hint: 'Nothing was signed. Try again.',
        retryable: true,
      },
    );
  }

  async #nextNonce({ from, chainId }: Payment): Promise<number> {
    const { connection, store } = this.#options;
    const [counted, { nextNonce }] = await Promise.all([
      connection.transactionCount(from as Hex, 'pending'),
      store.openTransfers({ chainId, from }),
    ]);
    return Math.max(counted, nextNonce);
  }

  /** Returns gas and fees, or rejects when the wallet cannot pay the amount and the gas. */
  async #terms({ from, amount, chainId }: Outlay, data: Hex) {
    const { connection, store, maxGasCost } = this.#options;
    const [{ tokens, gas: coins }, open, fees] = await Promise.all([
      connection.balances(from as Hex),
      store.openTransfers({ chainId, from }),
      connection.fees(),
    ]);
    const free = tokens - open.amount;
    if (free < amount) {
      const waiting = open.amount === 0n ? '' : ` (${usdc(open.amount)} more is being sent)`;
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
      throw new LangoError('tool', `The token contract would reject this transfer: ${remark}`, {
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
  return new LangoError('tool', `The wallet does not hold enough: ${text}.`, {
    hint: `${hint} Nothing was sent.`,
  });
}
