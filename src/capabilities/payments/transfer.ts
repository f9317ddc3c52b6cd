import type { PrivateKeyAccount } from 'viem/accounts';
import { LangoError } from '../../core/errors.js';
import type { Payment } from './payment-store.js';
import { eth, usdc } from './amount.js';
import { loadViem, rpcRemark, type Connection, type Hex } from './connection.js';
import type { PaymentContext } from './context.js';

/** Margin over the estimated gas: the state that a transfer writes may change before it runs. */
const GAS_MARGIN_PERCENT = 130n;
const SIGNING_ATTEMPTS = 5;

type TransferParties = Pick<Payment, 'chainId' | 'from' | 'to' | 'amount'>;

interface SigningContext extends PaymentContext {
  readonly account: PrivateKeyAccount;
  readonly signal: AbortSignal;
}

/**
 * Signs the transfer of a reserved payment with the next nonce of the wallet, and stores it. Resolves with the signed
 * payment, or with the stored one when another process signed it meanwhile. If the promise rejects, nothing was signed.
 */
export async function signTransfer(reserved: Payment, context: SigningContext): Promise<Payment> {
  const { connection, store, account, signal } = context;
  const { keccak256 } = await loadViem();
  signal.throwIfAborted();
  const transaction = {
    ...(await priceTransfer(reserved, context)),
    type: 'eip1559',
    chainId: reserved.chainId,
    to: await connection.token(),
  } as const;
  for (let attempt = 0; attempt < SIGNING_ATTEMPTS; attempt += 1) {
    const [counted, { nextNonce }] = await Promise.all([
      connection.transactionCount(account.address, 'pending'),
      store.openTransfers(reserved),
    ]);
    const nonce = Math.max(counted, nextNonce);
    const signed = await account.signTransaction({ ...transaction, nonce });
    const hash = keccak256(signed);
    // A stored signature cannot be taken back.
    signal.throwIfAborted();
    if (await store.sign(reserved, reserved.key, { signed, nonce, hash })) {
      return { ...reserved, state: 'signed', signed, nonce, hash };
    }
    const now = await store.get(reserved, reserved.key);
    if (now && now.state !== 'reserved') return now;
  }
  const text = 'The payment got no free nonce, because other payments of this wallet took each one first.';
  throw new LangoError('conflict', text, { hint: 'Nothing was signed. Try again.', retryable: true });
}

/** Computes the data, the gas and the fees of a transfer. Rejects when the wallet cannot pay the amount and the gas. */
export async function priceTransfer(transfer: TransferParties, context: PaymentContext) {
  const { connection, maxGasCost } = context;
  const data = await connection.transferData(transfer.to as Hex, transfer.amount);
  const [{ coins, openTransfers }, fees] = await Promise.all([
    requireTokens(transfer, context),
    connection.fees(),
  ]);
  const gas = ((await estimateGas(connection, transfer.from as Hex, data)) * GAS_MARGIN_PERCENT) / 100n;
  const cost = gas * fees.maxFeePerGas;
  if (cost > maxGasCost) {
    const text = `The gas of this payment would cost up to ${eth(cost)}; the limit is ${eth(maxGasCost)}.`;
    const hint = 'Try again when gas is cheaper, or raise payment.limits.gasCost. Nothing was sent.';
    throw new LangoError('limit-reached', text, { hint });
  }
  const needed = cost * BigInt(openTransfers + 1);
  if (coins < needed) {
    throw insufficient(
      `it holds ${eth(coins)} and up to ${eth(needed)} is needed for gas`,
      `Send a little ETH on this network to ${transfer.from} first.`,
    );
  }
  return { data, gas, ...fees };
}

/**
 * Rejects unless the wallet holds the amount in addition to its open transfers. Resolves with its coins for gas and the
 * number of its open transfers.
 */
export async function requireTokens(
  { from, amount, chainId }: TransferParties,
  { connection, store }: PaymentContext,
) {
  const [{ tokens, gas: coins }, open] = await Promise.all([
    connection.balances(from as Hex),
    store.openTransfers({ chainId, from }),
  ]);
  const free = tokens > open.amount ? tokens - open.amount : 0n;
  if (free >= amount) return { coins, openTransfers: open.count };
  const waiting = open.amount === 0n ? '' : ` (${usdc(open.amount)} more is being sent)`;
  throw insufficient(
    `it holds ${usdc(free)}${waiting} and ${usdc(amount)} is needed`,
    `Send USDC to ${from} first.`,
  );
}

async function estimateGas(connection: Connection, from: Hex, data: Hex): Promise<bigint> {
  try {
    return await connection.estimateGas(from, data);
  } catch (error) {
    const remark = rpcRemark(error) ?? '';
    if (!/revert/i.test(remark)) throw error;
    throw new LangoError('tool', `The token contract would reject this transfer: ${remark}`, {
      hint: 'The payee or the wallet may be blocked, or the token paused. Nothing was sent.',
      cause: error,
    });
  }
}

function insufficient(text: string, hint: string): LangoError {
  return new LangoError('tool', `The wallet does not hold enough: ${text}.`, {
    hint: `${hint} Nothing was sent.`,
  });
}
