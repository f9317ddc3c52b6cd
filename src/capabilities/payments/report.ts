import { usdc } from './amount.js';
import { isOpen, type Payment } from './payment-store.js';
import type { ToolOutput } from '../../core/tool.js';
import type { Network } from './networks.js';

/** Reports the outcome of a payment to the model. Only a confirmed payment is a success. */
export function describeOutcome(
  payment: Payment,
  network: Network,
): ToolOutput & { readonly content: string } {
  const what = `${usdc(payment.amount)} to ${payment.to} on ${network.title}`;
  const transaction = payment.hash === undefined ? '' : ` Transaction: ${payment.hash}.`;
  const note = payment.note === undefined ? '' : ` (${payment.note})`;
  const notPaid = `Not paid: ${what}${note}.${transaction}`;
  switch (payment.state) {
    case 'confirmed':
      return { content: `Paid ${what} for ${quoted(payment.purpose)}; confirmed${note}.${transaction}` };
    case 'failed':
      return { content: notPaid, isError: true };
    case 'refused': {
      const advice =
        'It is not sent again. Its amount counts against the daily limit until the next payment of this wallet is confirmed.';
      return { content: `${notPaid} ${advice}`, isError: true };
    }
    case 'reserved':
    case 'signed':
    case 'sent': {
      const unknown = `The outcome is not known yet: ${what} is signed${note}.${transaction}`;
      const advice = 'Do not pay again: it may still go through. payment_history shows the outcome later.';
      return { content: `${unknown} ${advice}`, isError: true };
    }
  }
}

/** Describes a payment on one line. */
export function describePayment(payment: Payment): string {
  const { createdAt, kind, amount, to, purpose, state, note, hash, chainId } = payment;
  const when = new Date(createdAt).toISOString().replace('T', ' ').slice(0, 19);
  const how = kind === 'x402' ? ' by x402' : '';
  const what = `${when} UTC  ${usdc(amount)} to ${to} on chain ${chainId}${how} for ${quoted(purpose)}`;
  const outcome = isOpen(state) && state !== 'refused' ? `${state}, outcome not known yet` : state;
  const details = [note, hash && `transaction ${hash}`].filter((part) => part !== undefined && part !== '');
  return `${what}: ${[outcome, ...details].join(', ')}`;
}

/** Quotes a text from outside, so that a reader cannot take it for a text of the server. */
export function quoted(text: string): string {
  return JSON.stringify(text);
}
