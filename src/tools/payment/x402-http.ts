import type { PaymentPayload, PaymentRequired } from '@x402/core/types';
import { z } from 'zod';
import { errorText, LangoError } from '../../core/errors.js';

/** A web request, ready to be sent. */
export interface WebRequest {
  readonly url: string;
  readonly method: string;
  readonly body: string | undefined;
  /** Header values with resolved secrets. */
  readonly headers: Readonly<Record<string, string>>;
  readonly maxAmount: bigint;
}

/** What an endpoint reports about the payment that it received. Untrusted. */
const settlementSchema = z.object({
  success: z.boolean(),
  transaction: z
    .string()
    .regex(/^0x[0-9a-fA-F]{64}$/)
    .optional()
    .catch(undefined),
});

export interface Answer {
  /** The answer of the endpoint as text for the model, or why there is none. */
  readonly text: string;
  /** Whether the endpoint answered with a status of success. */
  readonly isOk: boolean;
  readonly settlement?: z.infer<typeof settlementSchema> | undefined;
}

const MAX_ANSWER_CHARACTERS = 60_000;

export function asksForPayment({ status }: Response): boolean {
  return status === 402;
}

export function initOf({ method, body, headers }: WebRequest, signal: AbortSignal) {
  if (body === undefined) return { method, headers, signal };
  const type = parseJson(body) === undefined ? 'text/plain; charset=utf-8' : 'application/json';
  return { method, body, headers: { 'content-type': type, ...headers }, signal };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Reads a header of x402: JSON in base64. */
function readHeader(response: Response, name: string): unknown {
  return parseJson(Buffer.from(response.headers.get(name) ?? '', 'base64').toString());
}

/** Adds a payment by x402 version 2 to a request. */
export function withPayment(
  init: ReturnType<typeof initOf>,
  payment: Omit<PaymentPayload, 'x402Version'>,
): RequestInit {
  const header = Buffer.from(JSON.stringify({ x402Version: 2, ...payment })).toString('base64');
  return { ...init, headers: { ...init.headers, 'PAYMENT-SIGNATURE': header } };
}

/** Reads what the endpoint asks for. Rejects with `not-supported` when it does not ask by x402 version 2. */
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

export async function readAnswer(response: Response): Promise<Answer> {
  const { status, ok: isOk, headers } = response;
  const type = headers.get('content-type') ?? 'no content type';
  const head = `The answer (status ${status}, ${type.slice(0, 100)}):`;
  const settlement = settlementSchema.safeParse(readHeader(response, 'PAYMENT-RESPONSE')).data;
  try {
    const bytes = Buffer.from(await response.arrayBuffer());
    if (bytes.includes(0))
      return { text: `${head} ${bytes.length} bytes that are not text.`, isOk, settlement };
    const text = bytes.toString('utf8');
    const left = text.length - MAX_ANSWER_CHARACTERS;
    const cut = left > 0 ? `\n[… ${left} characters left out]` : '';
    return { text: `${head}\n${text.slice(0, MAX_ANSWER_CHARACTERS)}${cut}`, isOk, settlement };
  } catch (error) {
    return { text: `${head} it could not be read: ${errorText(error)}`, isOk, settlement };
  }
}
