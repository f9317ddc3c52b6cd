import { z } from 'zod';
import { ADDRESS, amountProblem, amountText, toUnits, usdc } from './amount.js';
import { textField } from '../../core/tool-fields.js';
import { defineTool, type Tool } from '../../core/tool.js';
import type { PaymentContext } from './context.js';
import type { Payer } from './payer.js';
import { describeOutcome, quoted } from './report.js';

export const MAX_PURPOSE_CHARACTERS = 200;

export function sendTool({ store, connection, paymentTimeoutMs }: PaymentContext, payer: Payer): Tool {
  const { network } = connection;
  return defineTool({
    name: 'payment_send',
    description:
      `Sends USDC on ${network.title}. A person has to approve it first. Returns when the network has confirmed ` +
      'the transfer. If the outcome is not known yet, do not send again.',
    schema: z.strictObject({
      to: ADDRESS.describe('The full address of the payee, exactly as the user gave it'),
      amount: amountField(
        'The amount of USDC as a decimal string with at most six decimal places, such as "0.50"',
      ),
      purpose: textField(
        'The purpose of the payment, shown to the person who approves it',
        MAX_PURPOSE_CHARACTERS,
      ),
    }),
    effect: 'queryable',
    danger: 'dangerous',
    describe: ({ to, amount, purpose }) =>
      `pay ${usdc(toUnits(amount))} to ${to} on ${network.title}, for ${quoted(purpose)}`,
    timeoutMs: paymentTimeoutMs,
    check: ({ to, amount }, { tenant, owner }) =>
      payer.assertPayable({ tenant, owner, to, amount: toUnits(amount) }),
    async execute({ to, amount, purpose }, { tenant, owner, key, signal }) {
      const order = { tenant, owner, key, to, amount: toUnits(amount), purpose };
      return describeOutcome(await payer.pay(order, signal), network);
    },
    async settle(_input, { tenant, owner, key, signal }) {
      const payment = await store.get({ tenant, owner }, key);
      // Nothing was signed, so the payment may be made now, under the same key.
      if (!payment || payment.state === 'reserved') return undefined;
      return describeOutcome(await payer.resume(payment, signal), network);
    },
  });
}

/** A decimal string of USDC greater than zero. */
export function amountField(description: string): z.ZodString {
  const problemOf = (text: string) =>
    amountProblem(text) ?? (toUnits(text) === 0n ? 'must be more than zero' : undefined);
  return amountText(problemOf).describe(description);
}
