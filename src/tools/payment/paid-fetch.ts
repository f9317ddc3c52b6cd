import type { PaymentRequired, PaymentRequirements, SettleResponse } from '@x402/core/types';
import { usdc } from './amount.js';
import { errorText, LangoError } from '../../core/errors.js';
import { isOpen, type Payment } from '../../stores/payments.js';
import type { ToolOutput } from '../../core/tool.js';
import type { Hex } from './connection.js';
import { isTransferOf, type Ledger } from './ledger.js';
import type { PaymentOrder } from './payer.js';
import { describeOutcome } from './report.js';
import { authorize, type SigningOptions } from './x402-signing.js';
import { isSameAddress, whyNotPayable, offerOf, type PayableTerms } from './x402.js';

export interface PaidFetchOptions extends SigningOptions {
  readonly ledger: Ledger;
  /** The egress fetch for paid endpoints. It limits the time and the size of each answer. */
  readonly webFetch: typeof fetch;
  readonly confirmMs: number;
}

/** A web request, ready to be sent. */
export interface WebRequest {
  readonly url: string;
  readonly method: string;
  readonly body: string | undefined;
  /** Header values with resolved secrets. */
  readonly headers: Readonly<Record<string, string>>;
  readonly maxAmount: bigint;
}

const LONGEST_BODY = 60_000;
const STATUS_PAYMENT_REQUIRED = 402;
const HASH = /^0x[0-9a-fA-F]{64}$/;

/** Sends requests to paid endpoints, by x402 version 2. */
export class PaidFetch {
  readonly #options: PaidFetchOptions;

  constructor(options: PaidFetchOptions) {
    this.#options = options;
  }

  /** Sends the request without paying. Resolves with the answer, or with the offered prices and how to pay them. */
  async requestPrice(request: WebRequest, signal: AbortSignal): Promise<ToolOutput> {
    const { webFetch, connection } = this.#options;
    const response = await webFetch(request.url, { ...initOf(request), signal });
    if (response.status !== STATUS_PAYMENT_REQUIRED) {
      return unpaidAnswer({ answer: await readAnswer(response), isOk: response.ok });
    }
    const { x402Client, x402HTTPClient } = await import('@x402/fetch');
    const client = new x402HTTPClient(new x402Client());
    let required: PaymentRequired;
    try {
      required = client.getPaymentRequiredResponse(
        (name) => response.headers.get(name),
        await jsonOf(response),
      );
    } catch {
      throw notX402();
    }
    const terms = await this.#terms();
    const lines = required.accepts.map((requirements) => {
      const against = whyNotPayable(requirements, terms);
      if (against !== undefined) return `- not possible here: ${against}`;
      const { amount, payTo } = offerOf(requirements);
      const isTooMuch = amount > request.maxAmount ? ` That is more than ${usdc(request.maxAmount)}.` : '';
      return `- ${usdc(amount)} to ${payTo} on ${connection.network.title}.${isTooMuch} To pay it, call again with payTo ${payTo}.`;
    });
    return {
      content: [
        `${new URL(request.url).host} asks for a payment; nothing was paid. Its offers:`,
        ...lines,
      ].join('\n'),
    };
  }

  /** Pays the payee of `order`, at most the maximum of the request, and resolves with the answer. */
  async pay(
    request: WebRequest,
    order: Omit<PaymentOrder, 'amount'>,
    signal: AbortSignal,
  ): Promise<ToolOutput> {
    const { store, ledger, confirmMs, connection } = this.#options;
    const done = await this.#earlierOutcome(order);
    if (done) return done;
    const attempt = await this.#send(request, order, signal);
    const payment = await store.get(order, order.key);
    if (!payment) return unpaidAnswer(attempt);
    const isSettled = attempt.settlement?.success === true;
    const seen = isSettled
      ? await ledger.waitForOutcome(payment, { ms: confirmMs, signal })
      : await ledger.tryRefresh(payment);
    const { content, isError } = describeOutcome(
      await this.#withHash(seen, attempt.settlement),
      connection.network,
    );
    return { content: `${content}\n${attempt.answer}`, isError: (isError ?? false) || !attempt.isOk };
  }

  /** The outcome of an earlier attempt if it is certain, in which case the payment must not be repeated. */
  async #earlierOutcome(order: Omit<PaymentOrder, 'amount'>): Promise<ToolOutput | undefined> {
    const { store, ledger, connection } = this.#options;
    const known = await store.get(order, order.key);
    if (!known || known.state === 'reserved') return undefined;
    const payment = await ledger.refresh(known);
    if (isOpen(payment.state)) return undefined;
    const { content, isError } = describeOutcome(payment, connection.network);
    if (isError) return { content, isError };
    return {
      content: `${content} The answer to that payment was lost; it is not paid again.`,
      isError: true,
    };
  }

  async #send(
    request: WebRequest,
    order: Omit<PaymentOrder, 'amount'>,
    signal: AbortSignal,
  ): Promise<Attempt> {
    const { webFetch, connection } = this.#options;
    const { wrapFetchWithPayment, x402Client, decodePaymentResponseHeader } = await import('@x402/fetch');
    const terms = await this.#terms();
    // The library replaces the errors thrown inside it, so the original is kept here.
    let failure: unknown;
    const guarded = async <Result>(work: () => Promise<Result>): Promise<Result> => {
      try {
        return await work();
      } catch (error) {
        failure ??= error;
        throw error;
      }
    };
    const client = new x402Client().setSpendControls(false).register(connection.network.caip, {
      scheme: 'exact',
      createPaymentPayload: (x402Version, requirements) =>
        guarded(async () => {
          const { amount } = offerOf(requirements);
          const { authorization, signature } = await authorize({ ...order, amount }, requirements, {
            ...this.#options,
            terms,
          });
          return { x402Version, payload: { authorization, signature } };
        }),
    });
    client.registerPolicy((_version, offers) => {
      const fitting = offers.filter(
        (requirements) => whyRefused(requirements, { request, order, terms }) === undefined,
      );
      if (fitting.length === 0) failure ??= noFittingOffer(offers, { request, order, terms });
      return fitting;
    });
    const send = wrapFetchWithPayment((input, init) => guarded(() => webFetch(input, init)), client);
    try {
      const response = await send(request.url, { ...initOf(request), signal });
      const header = response.headers.get('PAYMENT-RESPONSE');
      return {
        answer: await readAnswer(response),
        isOk: response.ok,
        settlement: header === null ? undefined : decodeSafely(header, decodePaymentResponseHeader),
      };
    } catch (error) {
      return await this.#afterFailure(order, failure ?? error);
    }
  }

  /** Handles a request that failed after signing: the payment may go through, so its outcome is reported. */
  async #afterFailure(order: Omit<PaymentOrder, 'amount'>, error: unknown): Promise<Attempt> {
    const payment = await this.#options.store.get(order, order.key);
    if (!payment || !isOpen(payment.state)) {
      if (error instanceof LangoError) throw error;
      throw notX402(error);
    }
    const reason = error instanceof LangoError ? error.message : 'the request failed';
    return { answer: `No answer arrived: ${reason}`, isOk: false, settlement: undefined };
  }

  /** Adds the transaction that the endpoint named, if the chain confirms that it contains this payment. */
  async #withHash(payment: Payment, settlement: SettleResponse | undefined): Promise<Payment> {
    const { connection, store } = this.#options;
    const hash = settlement?.transaction ?? '';
    if (payment.state !== 'confirmed' || payment.hash !== undefined || !HASH.test(hash)) return payment;
    const receipt = await connection.receipt(hash as Hex).catch(() => undefined);
    if (!receipt?.transfers.some((transfer) => isTransferOf(transfer, payment))) return payment;
    return (await store.advance(payment, ['confirmed'], { state: 'confirmed', hash })) ?? payment;
  }

  async #terms(): Promise<PayableTerms> {
    const { connection } = this.#options;
    const [token, domain] = await Promise.all([connection.token(), connection.domain()]);
    return { network: connection.network, token, domain };
  }
}

interface Answer {
  /** The answer of the endpoint as text for the model, or why there is none. */
  readonly answer: string;
  /** Whether the endpoint answered with a status of success. */
  readonly isOk: boolean;
}

interface Attempt extends Answer {
  readonly settlement: SettleResponse | undefined;
}

interface OfferContext {
  readonly request: WebRequest;
  readonly order: Omit<PaymentOrder, 'amount'>;
  readonly terms: PayableTerms;
}

function unpaidAnswer({ answer, isOk }: Answer): ToolOutput {
  return { content: `The endpoint did not ask for a payment.\n${answer}`, isError: !isOk };
}

/**
 * Returns why an offer is not paid, or undefined. The payee must be the approved one and the price within the approved
 * maximum.
 */
function whyRefused(
  requirements: PaymentRequirements,
  { request, order, terms }: OfferContext,
): string | undefined {
  const against = whyNotPayable(requirements, terms);
  if (against !== undefined) return against;
  const { amount, payTo } = offerOf(requirements);
  if (!isSameAddress(payTo, order.to))
    return `its payee is ${payTo.slice(0, 60)}, but ${order.to} was approved`;
  if (amount > request.maxAmount)
    return `it costs ${usdc(amount)}, but at most ${usdc(request.maxAmount)} was approved`;
  return undefined;
}

function notX402(cause?: unknown): LangoError {
  return new LangoError(
    'not-supported',
    'The endpoint asks for a payment, but not by x402 version 2, the only supported protocol.',
    {
      cause,
    },
  );
}

function noFittingOffer(offers: readonly PaymentRequirements[], wanted: OfferContext): LangoError {
  const reasons = offers
    .map((requirements) => whyRefused(requirements, wanted))
    .filter((reason) => reason !== undefined);
  return new LangoError(
    'forbidden',
    `No offer of the endpoint can be paid: ${reasons.slice(0, 4).join('; ') || 'it has none'}.`,
    {
      hint: 'Nothing was signed. Call without payTo to see its offers.',
    },
  );
}

function initOf({ method, body, headers }: WebRequest): RequestInit {
  if (body === undefined) return { method, headers };
  const type = isJson(body) ? 'application/json' : 'text/plain; charset=utf-8';
  return { method, body, headers: { 'content-type': type, ...headers } };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

async function jsonOf(response: Response): Promise<unknown> {
  const text = await response.text();
  return isJson(text) ? (JSON.parse(text) as unknown) : undefined;
}

async function readAnswer(response: Response): Promise<string> {
  const type = response.headers.get('content-type') ?? 'no content type';
  const head = `The answer (status ${response.status}, ${type.slice(0, 100)}):`;
  try {
    const bytes = Buffer.from(await response.arrayBuffer());
    if (bytes.includes(0)) return `${head} ${bytes.length} bytes that are not text.`;
    const text = bytes.toString('utf8');
    const cut = text.length > LONGEST_BODY ? `\n[… ${text.length - LONGEST_BODY} characters left out]` : '';
    return `${head}\n${text.slice(0, LONGEST_BODY)}${cut}`;
  } catch (error) {
    return `${head} it could not be read: ${errorText(error)}`;
  }
}

function decodeSafely(
  header: string,
  decode: (header: string) => SettleResponse,
): SettleResponse | undefined {
  try {
    return decode(header);
  } catch {
    return undefined;
  }
}
