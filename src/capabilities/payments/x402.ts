import { hash } from 'node:crypto';
import type { PaymentRequired, PaymentRequirements } from '@x402/core/types';
import type { PrivateKeyAccount } from 'viem/accounts';
import { z } from 'zod';
import { LangoError } from '../../core/errors.js';
import { parseJson } from '../../core/json.js';
import { responseText } from '../../core/web-request.js';
import type { Payment } from './payment-store.js';
import type { Hex, PayableTerms } from './connection.js';

/** Returns why an offer cannot be paid at all, or undefined. All fields of the offer are untrusted. */
export function whyNotPayable(offer: PaymentRequirements, terms: PayableTerms): string | undefined {
  const { network, token, domain } = terms;
  const { name, version, assetTransferMethod = 'eip3009' } = offer.extra ?? {};
  if (offer.scheme !== 'exact') return `its scheme is ${quoted(offer.scheme)}, not "exact"`;
  if (offer.network !== network.caip)
    return `its network is ${quoted(offer.network)}, not ${quoted(network.caip)}`;
  if (!isSameAddress(offer.asset, token)) return `its token is ${quoted(offer.asset)}, not USDC`;
  if (assetTransferMethod !== 'eip3009')
    return `its transfer method is ${quoted(assetTransferMethod)}, not "eip3009"`;
  if (name !== domain.name || version !== domain.version)
    return 'its signing domain differs from that of the token';
  // In the smallest unit, and above zero.
  if (!/^[1-9]\d{0,17}$/.test(offer.amount)) return `its amount is ${quoted(offer.amount)}`;
  return undefined;
}

export function isSameAddress(left: string, right: string): boolean {
  return left.toLowerCase() === right.toLowerCase();
}

const MAX_QUOTE_CHARACTERS = 60;

function quoted(text: unknown): string {
  return JSON.stringify(String(text).slice(0, MAX_QUOTE_CHARACTERS));
}

const hex = z.templateLiteral(['0x', z.string()]);
const digits = z.string().regex(/^\d{1,78}$/);
const signedAuthorization = z.object({
  /** Permits the transfer of an exact amount, once, within a time (EIP-3009). Times are in seconds of the chain's clock. */
  authorization: z.object({
    from: hex,
    to: hex,
    value: digits,
    validAfter: digits,
    validBefore: digits,
    nonce: hex,
  }),
  signature: hex,
});

/** A signed x402 payment, as it is stored and sent. */
export type SignedAuthorization = z.infer<typeof signedAuthorization>;

export function readSigned(signed: string): SignedAuthorization {
  try {
    return signedAuthorization.parse(JSON.parse(signed));
  } catch (cause) {
    throw new LangoError('storage', 'The stored authorization of a payment is damaged.', { cause });
  }
}

/** Maximum validity of an authorization. A longer one that an endpoint requests is shortened to it. */
const MAX_VALIDITY_SECONDS = 600;

/** The typed data of EIP-3009. */
const AUTHORIZATION_TYPES = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const;

interface Signing {
  readonly account: PrivateKeyAccount;
  readonly terms: PayableTerms;
  readonly offer: PaymentRequirements;
  /** The clock of the chain. */
  readonly seconds: bigint;
}

/** Signs the authorization of a payment. Its nonce comes from the payment's key, so it can be redeemed only once. */
export async function signAuthorization(
  payment: Payment,
  { account, terms, offer, seconds }: Signing,
): Promise<SignedAuthorization> {
  const now = Math.max(Number(seconds), Math.floor(Date.now() / 1_000));
  const validity = Math.min(Math.max(1, Math.floor(offer.maxTimeoutSeconds)), MAX_VALIDITY_SECONDS);
  const parties = { from: payment.from as Hex, to: payment.to as Hex };
  const nonce: Hex = `0x${hash('sha256', `x402 authorization ${payment.key}`, 'hex')}`;
  const validBefore = BigInt(now + validity);
  const signature = await account.signTypedData({
    domain: { ...terms.domain, chainId: payment.chainId, verifyingContract: terms.token },
    types: AUTHORIZATION_TYPES,
    primaryType: 'TransferWithAuthorization',
    message: { ...parties, value: payment.amount, validAfter: 0n, validBefore, nonce },
  });
  const value = `${payment.amount}`;
  const authorization = { ...parties, value, validAfter: '0', validBefore: `${validBefore}`, nonce };
  return { authorization, signature };
}

/** A web request that is ready to be sent: its headers contain the values of secrets. */
export interface WebRequest {
  readonly url: string;
  readonly init: RequestInit & { readonly headers: Readonly<Record<string, string>> };
  readonly maxAmount: bigint;
}

/** The endpoint's report about the payment that it received. Untrusted. */
const settlementSchema = z.object({
  success: z.boolean(),
  transaction: z
    .string()
    .regex(/^0x[0-9a-fA-F]{64}$/)
    .optional()
    .catch(undefined),
});

/** The status of a response that asks for a payment. */
export const PAYMENT_REQUIRED = 402;

/** The response of a paid endpoint. */
export interface PaidResponse {
  /** The response as text for the model, or why there is none. */
  readonly text: string;
  /** Whether its status is one of success. */
  readonly isOk: boolean;
  readonly settlement?: z.infer<typeof settlementSchema> | undefined;
}

/** Reads a header of x402: JSON in base64. */
function readHeader(response: Response, name: string): unknown {
  return parseJson(Buffer.from(response.headers.get(name) ?? '', 'base64').toString());
}

/** Reads the payment that the endpoint asks for. Rejects with `not-supported` for another protocol than x402 version 2. */
export async function readRequired(response: Response): Promise<PaymentRequired> {
  const { PaymentRequiredV2Schema } = await import('@x402/core/schemas');
  await response.text();
  const { data } = PaymentRequiredV2Schema.safeParse(readHeader(response, 'PAYMENT-REQUIRED'));
  if (data) return data as PaymentRequired;
  throw new LangoError(
    'not-supported',
    'The endpoint asks for a payment, but not by x402 version 2, the only supported protocol.',
  );
}

export async function readResponse(response: Response): Promise<PaidResponse> {
  const settlement = settlementSchema.safeParse(readHeader(response, 'PAYMENT-RESPONSE')).data;
  return { text: await responseText(response), isOk: response.ok, settlement };
}
