import { z } from 'zod';
import { defineTool, type Tool } from '../../core/tool.js';
import { eth, usdc } from '../../core/amount.js';
import type { Desk } from './desk.js';

export function balanceTool({ connection, store, wallets, askMs }: Desk): Tool {
  const { title, chainId } = connection.network;
  return defineTool({
    name: 'payment_balance',
    description: `Tells how much USDC the user's wallet holds on ${title}, and how much ETH for gas.`,
    schema: z.strictObject({}),
    effect: 'pure',
    danger: () => 'safe',
    timeoutMs: () => askMs,
    examples: [
      { text: 'what is my USDC balance' },
      { text: 'show my USDC balance' },
      { text: 'how much USDC do I have' },
      { text: 'check the balance of my wallet' },
    ],
    async execute(_input, { tenant, owner }) {
      const { address } = await wallets.require({ tenant, owner });
      const [{ tokens, gas }, open] = await Promise.all([
        connection.balances(address),
        store.openTransfers({ chainId, from: address }),
      ]);
      const leaving = open.count === 0 ? '' : ` ${usdc(open.amount)} of it is on its way out.`;
      return { content: `${address} holds ${usdc(tokens)} and ${eth(gas)} for gas on ${title}.${leaving}` };
    },
  });
}
