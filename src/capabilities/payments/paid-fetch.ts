import type { PaymentPayload, PaymentRequirements } from '@x402/core/types';
import { isLangoError, LangoError } from '../../core/errors.js';
import type { ToolOutput } from '../../core/tool.js';
import { isOpen, type Payment } from './payment-store.js';
import { usdc } from './amount.js';
import type { Hex, PayableTerms } from './connection.js';
import type { PaymentContext } from './context.js';
import { isTransferOf, type Ledger } from './ledger.js';
import type { Payer, PaymentOrder } from './payer.js';
import { describeOutcome } from './report.js';
import { requireTokens } from './transfer.js';
import { isSameAddress, PAYMENT_REQUIRED, readRequired, readResponse, readSigned } from './x402.js';
import { signAuthorization, whyNotPayable } from './x402.js';
import type { PaidResponse, SignedAuthorization, WebRequest } from './x402.js';

/** An order whose price the endpoint names. `to` is the approved payee. */
type OpenOrder = Omit<PaymentOrder, 'amount'>;

/** Sends requests to paid endpoints, by x402 version 2. */
export class PaidFetch {
  readonly #context: PaymentContext;
  readonly #payer: Payer;
  readonly #ledger: Ledger;

  constructor(context: PaymentContext, payer: Payer, ledger: Ledger) {
    this.#context = context;
    this.#payer = payer;
    this.#ledger = ledger;
  }

  /** Sends the request without paying. Resolves with the response, or with the offered prices and how to pay them. */
  async requestPrice(request: WebRequest): Promise<ToolOutput> {
    const { webFetch, connection } = this.#context;
    const response = await webFetch(request.url, request.init);
    if (response.status !== PAYMENT_REQUIRED) return unpaidResponse(await readResponse(response));
    const [{ accepts }, terms] = [await readRequired(response), await connection.terms()];
    const lines = accepts.map((offer) => {
      const problem = whyNotPayable(offer, terms);
      if (problem !== undefined) return `- not possible here: ${problem}`;
      const amount = BigInt(offer.amount);
      const isTooMuch = amount > request.maxAmount ? ` That is more than ${usdc(request.maxAmount)}.` : '';
      return `- ${usdc(amount)} to ${offer.payTo} on ${connection.network.title}.${isTooMuch} To pay it, call again with payTo ${offer.payTo}.`;
    });
    const head = `${new URL(request.url).host} asks for a payment; nothing was paid. Its offers:`;
    return { content: [head, ...lines].join('\n') };
  }

  /** Pays the payee of `order`, at most the maximum of the request, and resolves with the response. */
  async pay(request: WebRequest, order: OpenOrder, signal: AbortSignal): Promise<ToolOutput> {
    const { store, connection } = this.#context;
    const done = await this.#earlierOutcome(order);
    if (done) return done;
    const response = await this.#send(request, order).catch(async (error: unknown): Promise<PaidResponse> => {
      const payment = await store.get(order, order.key);
      if (!payment || !isOpen(payment.state)) throw error;
      // The request failed after signing. The payment may still be redeemed, so its outcome is reported.
      const reason = isLangoError(error) ? error.message : 'the request failed';
      return { text: `No response arrived: ${reason}`, isOk: false };
    });
    const payment = await store.get(order, order.key);
    if (!payment) return unpaidResponse(response);
    const { settlement } = response;
    const refreshed = settlement?.success
      ? await this.#ledger.waitForOutcome(payment, signal)
      : await this.#ledger.tryRefresh(payment);
    const withHash = await this.#withHash(refreshed, settlement?.transaction);
    const { content, isError = false } = describeOutcome(withHash, connection.network);
    return { content: `${content}\n${response.text}`, isError: isError || !response.isOk };
  }

  /** The outcome of an earlier attempt if it is certain, in which case the payment must not be repeated. */
  async #earlierOutcome(order: OpenOrder): Promise<ToolOutput | undefined> {
    const { store, connection } = this.#context;
    const known = await store.get(order, order.key);
    if (!known || known.state === 'reserved') return undefined;
    const payment = await this.#ledger.refresh(known);
    if (isOpen(payment.state)) return undefined;
    const { content, isError } = describeOutcome(payment, connection.network);
    const note = isError ? '' : ' The response to that payment was lost; it is not paid again.';
    return { content: `${content}${note}`, isError: true };
  }

  /** Sends the request. If the endpoint asks for a payment, signs its first acceptable offer and repeats the request with it. */
  async #send(request: WebRequest, order: OpenOrder): Promise<PaidResponse> {
    const { webFetch, connection } = this.#context;
    const { init, url } = request;
    const response = await webFetch(url, init);
    if (response.status !== PAYMENT_REQUIRED) return readResponse(response);
    const { accepts, resource, extensions } = await readRequired(response);
    const terms = await connection.terms();
    const reasons = accepts.map((offer) => whyRefused(offer, terms, { ...order, ...request }));
    const accepted = accepts[reasons.indexOf(undefined)];
    if (!accepted) {
      const why = reasons.slice(0, 4).join('; ');
      const hint = 'Nothing was signed. Call without payTo to see its offers.';
      throw new LangoError('forbidden', `No offer of the endpoint can be paid: ${why}.`, { hint });
    }
    const payload = await this.#authorize(order, accepted, terms);
    const payment: PaymentPayload = { x402Version: 2, resource, extensions, accepted, payload };
    const header = Buffer.from(JSON.stringify(payment)).toString('base64');
    const headers = { ...init.headers, 'PAYMENT-SIGNATURE': header };
    return readResponse(await webFetch(url, { ...init, headers }));
  }

  /**
   * Reserves, signs and stores the authorization of an order, and only then returns it. A repeated call returns the
   * stored authorization.
   */
  async #authorize(
    order: OpenOrder,
    offer: PaymentRequirements,
    terms: PayableTerms,
  ): Promise<SignedAuthorization> {
    const { connection, store } = this.#context;
    const amount = BigInt(offer.amount);
    const { payment, account } = await this.#payer.reserve({ ...order, amount }, 'x402');
    if (payment.amount !== amount || !isSameAddress(payment.to, order.to)) {
      const text = `The offer has changed since its approval: it was ${usdc(payment.amount)} to ${payment.to}.`;
      throw new LangoError('conflict', text, { hint: 'Ask for the price again. Nothing more was paid.' });
    }
    if (isOpen(payment.state)) return readSigned(payment.signed!);
    if (payment.state !== 'reserved') {
      const why = payment.note ?? payment.state;
      throw new LangoError('conflict', `This request was already paid, or can no longer be paid: ${why}.`);
    }
    return this.#payer.releaseOnError(payment, async () => {
      await requireTokens(payment, this.#context);
      const { seconds } = await connection.head();
      const signed = await signAuthorization(payment, { account, terms, offer, seconds });
      if (!(await store.sign(payment, payment.key, { signed: JSON.stringify(signed) }))) {
        const hint = 'Nothing was signed here.';
        throw new LangoError('conflict', 'The same request is being paid at this moment.', { hint });
      }
      await store.advance(payment, ['signed'], { state: 'sent' });
      return signed;
    });
  }

  /** Adds the transaction that the endpoint named, if the chain confirms that it contains this payment. */
  async #withHash(payment: Payment, hash: string | undefined): Promise<Payment> {
    const { connection, store } = this.#context;
    if (hash === undefined || payment.state !== 'confirmed' || payment.hash !== undefined) return payment;
    const receipt = await connection.receipt(hash as Hex).catch(() => undefined);
    if (!receipt?.transfers.some((transfer) => isTransferOf(transfer, payment))) return payment;
    return (await store.advance(payment, ['confirmed'], { state: 'confirmed', hash })) ?? payment;
  }
}

function unpaidResponse({ text, isOk }: PaidResponse): ToolOutput {
  return { content: `The endpoint did not ask for a payment.\n${text}`, isError: !isOk };
}

/** Returns why an offer is not paid, or undefined. The payee must be the approved one, and the price within the maximum. */
function whyRefused(
  offer: PaymentRequirements,
  terms: PayableTerms,
  { to, maxAmount }: Pick<PaymentOrder, 'to'> & Pick<WebRequest, 'maxAmount'>,
): string | undefined {
  const problem = whyNotPayable(offer, terms);
  if (problem !== undefined) return problem;
  if (!isSameAddress(offer.payTo, to))
    return `its payee is ${offer.payTo.slice(0, 60)}, but ${to} was approved`;
  const amount = BigInt(offer.amount);
  return amount > maxAmount
    ? `it costs ${usdc(amount)}, but at most ${usdc(maxAmount)} was approved`
    : undefined;
}
