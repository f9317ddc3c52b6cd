import { z } from 'zod';
import { defineTool, type Tool } from '../../core/tool.js';
import type { Desk } from './desk.js';

export function walletInfoTool({ connection, wallets, askMs }: Desk): Tool {
  const { network } = connection;
  return defineTool({
    name: 'payment_wallet_info',
    description:
      "Tells the address of the user's wallet, its network and its token. The private key cannot be had.",
    schema: z.strictObject({}),
    effect: 'pure',
    danger: () => 'safe',
    timeoutMs: () => askMs,
    examples: [
      { text: 'what is my wallet address' },
      { text: 'show my wallet' },
      { text: 'tell me about my wallet' },
    ],
    async execute(_input, { tenant, owner }) {
      const { address } = await wallets.require({ tenant, owner });
      return { content: `Wallet: ${address}\nNetwork: ${network.title}\nToken: USDC at ${network.token}` };
    },
  });
}

export function createWalletTool({ connection, wallets, askMs }: Desk): Tool {
  const { network } = connection;
  return defineTool({
    name: 'payment_create_wallet',
    description:
      "Makes the user's wallet; its private key stays in the vault. When there is one already, that one is kept and told.",
    schema: z.strictObject({}),
    effect: 'keyed',
    danger: () => 'moderate',
    timeoutMs: () => askMs,
    examples: [
      { text: 'create a wallet' },
      { text: 'make me a wallet' },
      { text: 'create a payment wallet' },
    ],
    // An owner has one wallet, so a repeat finds the one that was made.
    async execute(_input, { tenant, owner }) {
      const { address, isNew } = await wallets.create({ tenant, owner });
      const what = isNew ? `The wallet ${address} was made.` : `There is a wallet already: ${address}.`;
      return {
        content: `${what} To pay from it on ${network.title}, it needs USDC, and a little ETH for gas.`,
      };
    },
  });
}
