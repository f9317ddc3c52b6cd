import { z } from 'zod';
import type { Scope } from '../../core/task.js';
import { limitField } from '../../core/tool-fields.js';
import { defineTool, type Tool, type ToolDefinition } from '../../core/tool.js';
import { eth, usdc } from './amount.js';
import type { PaymentContext } from './context.js';
import type { Ledger } from './ledger.js';
import { isOpen } from './payment-store.js';
import { describePayment } from './report.js';

const NO_INPUT = z.strictObject({});

/** Makes a tool without arguments that returns a text. */
function plainTool(
  definition: Omit<ToolDefinition<typeof NO_INPUT>, 'schema' | 'execute'>,
  textFor: (scope: Scope) => Promise<string>,
): Tool {
  return defineTool({
    effect: 'pure',
    ...definition,
    schema: NO_INPUT,
    execute: async (_input, { tenant, owner }) => ({ content: await textFor({ tenant, owner }) }),
  });
}

export function balanceTool({ connection, store, wallets, queryTimeoutMs: timeoutMs }: PaymentContext): Tool {
  const { title, chainId } = connection.network;
  const description = `Returns the USDC balance of the user's wallet on ${title}, and its ETH for gas.`;
  return plainTool({ name: 'payment_balance', description, timeoutMs }, async (scope) => {
    const { address } = await wallets.require(scope);
    const [{ tokens, gas }, open] = await Promise.all([
      connection.balances(address),
      store.openTransfers({ chainId, from: address }),
    ]);
    const leaving = open.count === 0 ? '' : ` ${usdc(open.amount)} of it is being sent.`;
    return `${address} holds ${usdc(tokens)} and ${eth(gas)} for gas on ${title}.${leaving}`;
  });
}

const LIMIT_DEFAULT = 20;
const LIMIT_MAX = 100;
/** The newest open payments are refreshed from the chain, up to this number. The others show their last known state. */
const MAX_REFRESHED = 5;

export function historyTool({ store, connection, queryTimeoutMs }: PaymentContext, ledger: Ledger): Tool {
  const { chainId } = connection.network;
  return defineTool({
    name: 'payment_history',
    description:
      'Lists the payments that the user made through this server, newest first, each with its state. Queries the chain ' +
      'for the outcome of open payments.',
    schema: z.strictObject({
      limit: limitField(`Maximum number of payments; ${LIMIT_DEFAULT} by default`, LIMIT_MAX),
    }),
    effect: 'pure',
    timeoutMs: queryTimeoutMs,
    async execute({ limit = LIMIT_DEFAULT }, { tenant, owner }) {
      const payments = await store.list({ tenant, owner }, limit);
      if (payments.length === 0) return { content: 'There are no payments yet.' };
      const open = payments.filter((payment) => isOpen(payment.state) && payment.chainId === chainId);
      const refreshed = new Set(open.slice(0, MAX_REFRESHED));
      const shown = await Promise.all(
        payments.map(async (payment) =>
          refreshed.has(payment) ? ledger.tryRefresh(payment, ['signed', 'sent']) : payment,
        ),
      );
      return { content: shown.map(describePayment).join('\n') };
    },
  });
}

export function limitsTool({ connection, store, limits, queryTimeoutMs: timeoutMs }: PaymentContext): Tool {
  const { title, chainId } = connection.network;
  const description =
    'Returns the limit for one payment, the limit for any 24 hours, and how much of it is left.';
  return plainTool({ name: 'payment_limits', description, timeoutMs }, async (scope) => {
    const { spent, freesAt } = await store.spending(scope, chainId);
    const left = spent > limits.daily ? 0n : limits.daily - spent;
    const lines = [
      `Network: ${title}.`,
      `One payment: at most ${usdc(limits.perTransaction)}.`,
      `In any 24 hours: at most ${usdc(limits.daily)}; ${usdc(spent)} of it is spent or reserved, ${usdc(left)} is left.`,
    ];
    if (freesAt !== undefined)
      lines.push(`The oldest of those payments stops counting at ${new Date(freesAt).toISOString()}.`);
    return lines.join('\n');
  });
}

export function walletInfoTool({ connection, wallets, queryTimeoutMs: timeoutMs }: PaymentContext): Tool {
  const { title, token } = connection.network;
  const description =
    "Returns the address of the user's wallet, its network and its token. The private key is never returned.";
  return plainTool({ name: 'payment_wallet_info', description, timeoutMs }, async (scope) => {
    const { address } = await wallets.require(scope);
    return `Wallet: ${address}\nNetwork: ${title}\nToken: USDC at ${token}`;
  });
}

export function createWalletTool({ connection, wallets, queryTimeoutMs: timeoutMs }: PaymentContext): Tool {
  const definition = {
    name: 'payment_create_wallet',
    description:
      "Creates the user's wallet; its private key stays in the vault. If a wallet exists, keeps it and returns its address.",
    // An owner has one wallet, so a repeated call finds the one that was created.
    effect: 'keyed',
    danger: 'moderate',
    timeoutMs,
  } as const;
  return plainTool(definition, async (scope) => {
    const { address, isNew } = await wallets.create(scope);
    const what = isNew ? `The wallet ${address} was created.` : `There is a wallet already: ${address}.`;
    return `${what} To pay from it on ${connection.network.title}, it needs USDC, and a little ETH for gas.`;
  });
}
