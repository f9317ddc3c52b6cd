import { z } from 'zod';
import { usdc } from './amount.js';
import { toUnits } from '../../core/amount.js';
import { LangoError } from '../../core/errors.js';
import { defineTool, type Tool, type ToolContext } from '../../core/tool.js';
import type { PaidFetch } from './paid-fetch.js';
import type { PaymentContext } from './context.js';
import type { Payer } from './payer.js';
import { addressField, amountField, MAX_PURPOSE_CHARACTERS } from './payment-send.js';
import { quoted } from './report.js';

const MAX_URL_CHARACTERS = 2_000;
const MAX_BODY_CHARACTERS = 64 * 1024;
const MAX_HEADER_CHARACTERS = 4_000;
const MAX_HEADERS = 20;
/** Headers that the connection and the payment set themselves. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  ...['host', 'connection', 'content-length', 'transfer-encoding', 'upgrade', 'te', 'trailer', 'expect'],
  ...['payment-signature', 'x-payment', 'proxy-authorization'],
]);

const schema = z.strictObject({
  url: z
    .url({ protocol: /^https?$/ })
    .max(MAX_URL_CHARACTERS)
    .describe('The URL to request'),
  maxAmount: amountField('The maximum price: USDC as a decimal string, such as "0.01"'),
  payTo: addressField(
    'The payee. Omit it in the first call: nothing is paid then, and the result holds the price and the payee to pass here',
  ).optional(),
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']).optional().describe('GET by default'),
  body: z.string().max(MAX_BODY_CHARACTERS).optional().describe('The request body: JSON or text'),
  headers: z
    .record(
      z
        .string()
        .regex(/^[A-Za-z0-9-]{1,64}$/)
        .refine((name) => !OWN_HEADERS.has(name.toLowerCase()), 'is set by the server itself'),
      z.string().max(MAX_HEADER_CHARACTERS),
    )
    .refine((headers) => Object.keys(headers).length <= MAX_HEADERS, `at most ${MAX_HEADERS}`)
    .optional()
    .describe(
      'Request headers. {{secret:NAME}} in a value stands for a secret that may be sent to this host',
    ),
});

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
      'it, and returns the answer.',
    schema,
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
    async execute({ url, maxAmount: most, payTo, method = 'GET', body, headers = {} }, context) {
      const { tenant, owner, key, signal } = context;
      const target = new URL(url);
      const maxAmount = toUnits(most);
      checkRules(target, maxAmount, rules);
      const request = { url, method, body, maxAmount, headers: await withSecrets(headers, target, context) };
      if (payTo === undefined) return paidFetch.requestPrice(request, signal);
      // The query is left out because it may contain a key.
      const purpose = `${method} ${target.origin}${target.pathname}`.slice(0, MAX_PURPOSE_CHARACTERS);
      return paidFetch.pay(request, { tenant, owner, key, to: payTo, purpose }, signal);
    },
  });
}

/** Resolves the secrets in header values at the last moment and for this host only; redirects are not followed. */
async function withSecrets(
  headers: Readonly<Record<string, string>>,
  { hostname }: URL,
  context: ToolContext,
): Promise<Readonly<Record<string, string>>> {
  const resolved = Object.entries(headers).map(
    async ([name, value]) => [name, await context.resolveSecrets(value, hostname)] as const,
  );
  return Object.fromEntries(await Promise.all(resolved));
}

function checkRules(
  { hostname, port, protocol }: URL,
  maxAmount: bigint,
  rules: PaymentContext['x402'],
): void {
  const withPort = `${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`;
  if (!rules.allowHosts.includes(hostname) && !rules.allowHosts.includes(withPort)) {
    throw new LangoError('forbidden', `url: ${hostname} is not one of the hosts that may be paid.`, {
      hint: `Only the operator can add it: payment.x402.allowHosts.`,
    });
  }
  if (maxAmount > rules.maxAmount) {
    throw new LangoError(
      'limit-reached',
      `maxAmount: ${usdc(maxAmount)} exceeds the limit for one request, ${usdc(rules.maxAmount)}.`,
      { hint: 'Only the operator can raise it: payment.x402.maxAmount.' },
    );
  }
}
