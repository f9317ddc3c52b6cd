import { z } from 'zod';
import { isOpen } from '../../core/payment.js';
import { defineTool, type Tool } from '../../core/tool.js';
import type { Desk } from './desk.js';
import { lineOf } from './report.js';

const DEFAULT_LIMIT = 20;
const MOST = 100;
/** Open ones that are looked up on the chain before the answer; the rest shows what was known last. */
const MOST_LOOKS = 5;

const schema = z.strictObject({
  limit: z.int().min(1).max(MOST).optional().describe(`How many at most; ${DEFAULT_LIMIT} by default`),
});

export function historyTool({ ledger, store, connection, askMs }: Desk): Tool {
  const { chainId } = connection.network;
  return defineTool({
    name: 'payment_history',
    description:
      'Lists the payments that the user made through this server, newest first, each with its state. Looks up on the chain ' +
      'what became of those whose outcome was not known.',
    schema,
    effect: 'pure',
    danger: () => 'safe',
    timeoutMs: () => askMs,
    examples: [
      { text: 'show my payment history' },
      { text: 'list my payments' },
      { text: 'what payments did I make' },
      { text: 'show my last {limit} payments' },
    ],
    async execute({ limit = DEFAULT_LIMIT }, { tenant, owner }) {
      const payments = await store.list({ tenant, owner }, limit);
      if (payments.length === 0) return { content: 'There are no payments yet.' };
      const open = payments.filter((payment) => isOpen(payment.state) && payment.chainId === chainId);
      const looked = new Set(open.slice(0, MOST_LOOKS));
      const shown = await Promise.all(
        payments.map(async (payment) =>
          looked.has(payment) ? ledger.look(payment, ['signed', 'sent']) : payment,
        ),
      );
      return { content: shown.map(lineOf).join('\n') };
    },
  });
}
