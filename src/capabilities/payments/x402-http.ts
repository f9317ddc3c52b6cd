import type { PaymentPayload, PaymentRequired } from '@x402/core/types';
import { z } from 'zod';
import { LangoError } from '../../core/errors.js';
import { answerText } from '../../core/web-request.js';

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

/** The response of a paid endpoint. */
export interface PaidResponse {
  /** The response as text for the model, or why there is none. */
  readonly text: string;
  /** Whether its status is one of success. */
  readonly isOk: boolean;
  readonly settlement?: z.infer<typeof settlementSchema> | undefined;
}

export function asksForPayment({ status }: Response): boolean {
  return status === 402;
}

/** Reads a header of x402: JSON in base64. */
function readHeader(response: Response, name: string): unknown {
  try {
    return JSON.parse(Buffer.from(response.headers.get(name) ?? '', 'base64').toString());
  } catch {
    return undefined;
  }
}

/** Adds a payment by x402 version 2 to a request. */
export function withPayment(
  init: WebRequest['init'],
  payment: Omit<PaymentPayload, 'x402Version'>,
): RequestInit {
  const header = Buffer.from(JSON.stringify({ x402Version: 2, ...payment })).toString('base64');
  return { ...init, headers: { ...init.headers, 'PAYMENT-SIGNATURE': header } };
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
  return { text: await answerText(response), isOk: response.ok, settlement };
}
