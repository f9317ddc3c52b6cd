import { z } from 'zod';
import { ADDRESS, toUnits, usdc } from './amount.js';
import { LangoError } from '../../core/errors.js';
import { defineTool, type Tool } from '../../core/tool.js';
import { headersField, REQUEST_FIELDS, requestInit } from '../../core/web-request.js';
import type { PaidFetch } from './paid-fetch.js';
import type { PaymentContext } from './context.js';
import type { Payer } from './payer.js';
import { amountField, MAX_PURPOSE_CHARACTERS } from './payment-send.js';
import { quoted } from './report.js';

export function x402FetchTool(
  { connection, x402: rules, paymentTimeoutMs }: PaymentContext,
  payer: Payer,
  paidFetch: PaidFetch,
): Tool {
  const { title } = connection.network;
  return defineTool({
    name: 'payment_x402_fetch',
    description:
      `Requests a URL that may ask for a payment (HTTP 402, x402) in USDC on ${title}. Without payTo it never pays and ` +
      'returns the price and the payee. With payTo it pays that payee, at most maxAmount, after a person has approved ' +
      'it, and returns the response.',
    schema: z.strictObject({
      url: REQUEST_FIELDS.url,
      maxAmount: amountField('The maximum price: USDC as a decimal string, such as "0.01"'),
      payTo: ADDRESS.describe(
        'The payee. Omit it in the first call: nothing is paid then, and the result holds the price and the payee to pass here',
      ).optional(),
      method: REQUEST_FIELDS.method,
      body: REQUEST_FIELDS.body,
      headers: headersField(['payment-signature', 'x-payment']),
    }),
    effect: 'keyed',
    bringsOutside: true,
    secretPlace: 'http',
    danger: ({ payTo }) => (payTo === undefined ? 'moderate' : 'dangerous'),
    describe: ({ url, maxAmount, payTo, method = 'GET', body }) => {
      const what = `${method} ${url}${body === undefined ? '' : ` with the body ${quoted(body)}`}`;
      if (payTo === undefined) return `ask for the price of ${what} (nothing is paid)`;
      return `pay up to ${usdc(toUnits(maxAmount))} to ${payTo} on ${title}, for ${what}`;
    },
    timeoutMs: paymentTimeoutMs,
    async check({ url, maxAmount, payTo }, { tenant, owner }) {
      checkRules(new URL(url), toUnits(maxAmount), rules);
      if (payTo !== undefined) await payer.assertPayee({ tenant, owner }, payTo);
    },
    async execute(input, context) {
      const { tenant, owner, key, signal } = context;
      const { url, payTo, method = 'GET' } = input;
      const target = new URL(url);
      const maxAmount = toUnits(input.maxAmount);
      checkRules(target, maxAmount, rules);
      const request = { url, init: await requestInit(input, context), maxAmount };
      if (payTo === undefined) return paidFetch.requestPrice(request);
      // The query is left out because it may contain a key.
      const purpose = `${method} ${target.origin}${target.pathname}`.slice(0, MAX_PURPOSE_CHARACTERS);
      return paidFetch.pay(request, { tenant, owner, key, to: payTo, purpose }, signal);
    },
  });
}

function checkRules(
  { hostname, port, protocol }: URL,
  maxAmount: bigint,
  rules: PaymentContext['x402'],
): void {
  const withPort = `${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`;
  if (!rules.allowHosts.includes(hostname) && !rules.allowHosts.includes(withPort)) {
    const hint = `Only the operator can add it: payment.x402.allowHosts.`;
    throw new LangoError('forbidden', `url: ${hostname} is not one of the hosts that may be paid.`, { hint });
  }
  if (maxAmount > rules.maxAmount) {
    const text = `maxAmount: ${usdc(maxAmount)} exceeds the limit for one request, ${usdc(rules.maxAmount)}.`;
    const hint = 'Only the operator can raise it: payment.x402.maxAmount.';
    throw new LangoError('limit-reached', text, { hint });
  }
}
