import { setTimeout as sleep } from 'node:timers/promises';
import type { Payment, PaymentChange } from '../../core/payment.js';
import { isOpen } from '../../core/payment.js';
import type { Connection, Hex } from './connection.js';
import { authorizationOf } from './authorization.js';
import type { Receipt } from './connection.js';
import { isSame } from './x402-offer.js';

/** What the chain says of a payment; `open` with what is known so far. */
export type Outcome =
  | (PaymentChange & { readonly state: 'confirmed' | 'failed' })
  | {
      readonly state: 'open';
      readonly note: string;
      /** No block holds it: sending it again may help. */ readonly isUnseen?: true;
    };

/** How often a missing receipt is looked for again before a payment counts as displaced: servers differ by a block or two. */
const LOOKS_FOR_RECEIPT = 5;
const PAUSE_BETWEEN_LOOKS_MS = 1_000;

/** Looks once. Rejects when the chain cannot be asked. */
export async function lookAt(
  payment: Payment,
  connection: Connection,
  confirmations: number,
): Promise<Outcome> {
  if (!isOpen(payment.state)) return { state: 'open', note: 'it is not signed' };
  return payment.kind === 'x402'
    ? lookAtAuthorization(payment, connection)
    : lookAtTransfer(payment, connection, confirmations);
}

async function lookAtTransfer(
  payment: Payment,
  connection: Connection,
  confirmations: number,
): Promise<Outcome> {
  const from = payment.from as Hex;
  const hash = payment.hash as Hex;
  for (let look = 1; ; look += 1) {
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
        note: `block ${receipt.block} holds the transaction, but the token reports no such transfer`,
      };
    }
    const used = await connection.transactionCount(from, 'latest');
    if (used <= payment.nonce!) return { state: 'open', note: 'no block holds it yet', isUnseen: true };
    // Its place is taken. By itself, unless the receipt stays away.
    if (look === LOOKS_FOR_RECEIPT) {
      return {
        state: 'failed',
        note: 'another transaction of this wallet took its place: it can never be made',
      };
    }
    await sleep(PAUSE_BETWEEN_LOOKS_MS);
  }
}

async function lookAtAuthorization(payment: Payment, connection: Connection): Promise<Outcome> {
  const { nonce, validBefore } = authorizationOf(payment.signed!);
  // Asked before the state: what is not redeemed in a block after its time never will be.
  const { seconds } = await connection.head();
  if (await connection.isRedeemed(payment.from as Hex, nonce))
    return { state: 'confirmed', note: 'the payee redeemed it' };
  if (seconds >= BigInt(validBefore)) return { state: 'failed', note: 'it ran out unused: no USDC moved' };
  return { state: 'open', note: 'the payee has not redeemed it yet' };
}

/** Whether it is the transfer that the payment is for. */
export function isTransferOf({ from, to, value }: Receipt['transfers'][number], payment: Payment): boolean {
  return isSame(from, payment.from) && isSame(to, payment.to) && value === payment.amount;
}
