import { z } from 'zod';
import { defineTool, type Tool } from '../../core/tool.js';
import { usdc } from '../../core/amount.js';
import type { Desk } from './desk.js';

export function limitsTool({ connection, store, limits, askMs }: Desk): Tool {
  const { title, chainId } = connection.network;
  return defineTool({
    name: 'payment_limits',
    description:
      'Tells what one payment and all payments of the last 24 hours may come to, and what is left of it.',
    schema: z.strictObject({}),
    effect: 'pure',
    danger: () => 'safe',
    timeoutMs: () => askMs,
    examples: [
      { text: 'what are my payment limits' },
      { text: 'show the payment limits' },
      { text: 'how much may I still spend today' },
    ],
    async execute(_input, { tenant, owner }) {
      const { spent, freesAt } = await store.spending({ tenant, owner }, chainId);
      const left = spent > limits.daily ? 0n : limits.daily - spent;
      const lines = [
        `Network: ${title}.`,
        `One payment: at most ${usdc(limits.perTransaction)}.`,
        `In any 24 hours: at most ${usdc(limits.daily)}; ${usdc(spent)} of it is spent or reserved, ${usdc(left)} is left.`,
      ];
      if (freesAt !== undefined)
        lines.push(`The oldest of those payments stops counting at ${new Date(freesAt).toISOString()}.`);
      return { content: lines.join('\n') };
    },
  });
}
