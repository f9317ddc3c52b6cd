import { hash } from 'node:crypto';
import type { PaymentRequirements } from '@x402/core/types';
import type { PrivateKeyAccount } from 'viem/accounts';
import { usdc } from './amount.js';
import { LangoError } from '../../core/errors.js';
import { isOpen, type Payment, type PaymentStore } from '../../stores/payments.js';
import type { Connection, Hex } from './connection.js';
import type { PaymentOrder, Payer } from './payer.js';
import type { Wallets } from './wallets.js';
import { readSigned, type SignedAuthorization, type PayableTerms } from './x402.js';

export interface SigningOptions {
  readonly connection: Connection;
  readonly store: PaymentStore;
  readonly wallets: Wallets;
  readonly payer: Payer;
}

/** Maximum validity of an authorization, in seconds. A longer one that an endpoint requests is shortened to it. */
const LONGEST_VALIDITY = 600;

/**
 * Reserves, signs and stores the authorization of an order (EIP-3009), and only then returns it. The nonce is derived
 * from the order's key, and a repeated call returns the stored authorization, so that it can be redeemed only once.
 */
export async function authorize(
  order: PaymentOrder,
  requirements: PaymentRequirements,
  { connection, store, wallets, payer, terms }: SigningOptions & { readonly terms: PayableTerms },
): Promise<SignedAuthorization> {
  const account = await wallets.require(order);
  const to = await payer.resolvePayee(order.to, account.address);
  const payment = await payer.reserve({ ...order, kind: 'x402', from: account.address, to });
  if (payment.amount !== order.amount || payment.to !== to) throw changed(payment);
  if (payment.state !== 'reserved') {
    if (isOpen(payment.state)) return readSigned(payment.signed!);
    throw new LangoError(
      'conflict',
      `This request was already paid, or can no longer be paid: ${payment.note ?? payment.state}.`,
    );
  }
  return payer.releaseOnError(payment, async () => {
    const open = await store.openTransfers({ chainId: payment.chainId, from: payment.from });
    const { tokens } = await connection.balances(account.address);
    if (tokens - open.amount < payment.amount) {
      const left = tokens > open.amount ? tokens - open.amount : 0n;
      throw new LangoError(
        'tool',
        `The wallet does not hold enough: it holds ${usdc(left)} and ${usdc(payment.amount)} is needed.`,
        {
          hint: `Send USDC to ${payment.from} first. Nothing was paid.`,
        },
      );
    }
    const signed = await sign(payment, {
      account,
      requirements,
      terms,
      seconds: (await connection.head()).seconds,
    });
    if (!(await store.sign(payment, payment.key, { signed: JSON.stringify(signed) }))) {
      throw new LangoError('conflict', 'The same request is being paid at this moment.', {
        hint: 'Nothing was signed here.',
      });
    }
    await store.advance(payment, ['signed'], { state: 'sent' });
    return signed;
  });
}

interface Signing {
  readonly account: PrivateKeyAccount;
  readonly requirements: PaymentRequirements;
  readonly terms: PayableTerms;
  /** The clock of the chain. */
  readonly seconds: bigint;
}

async function sign(
  payment: Payment,
  { account, requirements, terms, seconds }: Signing,
): Promise<SignedAuthorization> {
  const { authorizationTypes } = await import('@x402/evm');
  const now = Math.max(Number(seconds), Math.floor(Date.now() / 1_000));
  const validity = Math.min(Math.max(1, Math.floor(requirements.maxTimeoutSeconds)), LONGEST_VALIDITY);
  const validBefore = now + validity;
  const [from, to] = [payment.from as Hex, payment.to as Hex];
  const nonce: Hex = `0x${hash('sha256', `x402 authorization ${payment.key}`, 'hex')}`;
  const signature = await account.signTypedData({
    domain: { ...terms.domain, chainId: payment.chainId, verifyingContract: terms.token as Hex },
    types: authorizationTypes,
    primaryType: 'TransferWithAuthorization',
    message: { from, to, value: payment.amount, validAfter: 0n, validBefore: BigInt(validBefore), nonce },
  });
  const value = payment.amount.toString();
  return {
    authorization: { from, to, value, validAfter: '0', validBefore: `${validBefore}`, nonce },
    signature,
  };
}

function changed({ amount, to }: Payment): LangoError {
  return new LangoError(
    'conflict',
    `The offer has changed since its approval: it was ${usdc(amount)} to ${to}.`,
    {
      hint: 'Ask for the price again. Nothing more was paid.',
    },
  );
}
