import { z } from 'zod';
import { defineCapability, type CapabilityContext } from '../../core/capability.js';
import { isLangoError } from '../../core/errors.js';
import type { OperationTable } from '../../core/operation.js';
import { missing, off, type NodeFinding, type ToolFamily } from '../../core/tool-family.js';
import { VAULT, type OpenVault } from '../../core/vault.js';
import { isInstalled } from '../../disk/programs.js';
import { GAS_DECIMALS, toUnits } from './amount.js';
import { networkOf } from './networks.js';
import { PAYMENT_TABLES, PaymentStore } from './payment-store.js';
import { PAYMENT_SETTINGS } from './settings.js';
import type { Wallets } from './wallets.js';

type Context = CapabilityContext<typeof PAYMENT_SETTINGS>;

const WALLET = { what: 'The wallet', kind: 'wallet', tools: ['payment_send', 'secrets_list'] };

/** The operations of owners on their wallet. No result holds a private key. */
export const PAYMENT_OPERATIONS = {
  readWallet: {
    method: 'get',
    path: '/lango/wallet',
    keptBy: WALLET,
    input: z.object({}),
    result: z.object({ address: z.string() }),
  },
  importWallet: {
    method: 'put',
    path: '/lango/wallet',
    keptBy: WALLET,
    input: z.object({ privateKey: z.string(), replace: z.boolean().default(false) }),
    result: z.object({ address: z.string() }),
  },
} as const satisfies OperationTable;

/** Payments of USDC on Base, from a wallet in the vault, and for paid endpoints (x402). */
export const payments = defineCapability({
  name: 'payments',
  decidedSingly: /^pay[a-z]+_/,
  settings: PAYMENT_SETTINGS,
  tables: PAYMENT_TABLES,
  operations: PAYMENT_OPERATIONS,
  keeps: { wallet: { what: 'the wallets of owners' } },
  sentences: [
    ['create a wallet', 'payment_create_wallet'],
    ['what is my wallet address?', 'payment_wallet_info'],
    ['what is my USDC balance?', 'payment_balance'],
    ['what are my payment limits?', 'payment_limits'],
    ['show my payment history', 'payment_history'],
    ['send {amount} USDC to {to} for {purpose...}', 'payment_send'],
    ['what does {url} cost, at most {maxAmount} USDC?', 'payment_x402_fetch'],
    ['fetch {url} for at most {maxAmount} USDC', 'payment_x402_fetch'],
    ['fetch {url} and pay up to {maxAmount} USDC to {payTo}', 'payment_x402_fetch'],
    [
      'fetch {url} for at most {maxAmount} USDC with the secret {name} as the header {header}',
      'payment_x402_fetch',
      { headers: { '{header}': '{{secret:{name}}}' } },
    ],
  ],
  commands: [
    {
      usage: 'wallet',
      description: 'show or import the wallet that payments are made from',
      works: 'owner',
    },
    {
      usage: 'wallet address',
      description: 'show the address of your wallet',
      works: 'owner',
      async run(call) {
        const { address } = await call.withOwner(PAYMENT_OPERATIONS, (owner) => owner.readWallet({}));
        return { json: { address }, lines: [address] };
      },
    },
    {
      usage: 'wallet import',
      description: 'import the private key of a wallet that you already have',
      options: [{ flags: '--replace', description: 'delete the key of the present wallet' }],
      works: 'owner',
      /** Reads the key from the terminal, without echo, or from standard input. */
      async run(call) {
        const { readHidden } = await import('../../terminal/input.js');
        const privateKey = await readHidden('The private key');
        const replace = call.flags['replace'] === true;
        const { address } = await call.withOwner(PAYMENT_OPERATIONS, (owner) =>
          owner.importWallet({ privateKey, replace }),
        );
        const text = `Payments are made from ${address} from now on. Its key is in the vault.`;
        return { json: { address }, lines: [text] };
      },
    },
  ],
  open: (context) => ({
    operations: {
      readWallet: async (_input, { scope }) => ({
        address: (await (await openWallets(context)).require(scope)).address,
      }),
      importWallet: async ({ privateKey, replace }, { scope }) => ({
        address: await (await openWallets(context)).import(scope, privateKey, { replace }),
      }),
    },
    families: async () => [await openFamily(context)],
  }),
});

/** Loads the library of the chain when a wallet is used, not before. */
async function openWallets({ services }: Context): Promise<Wallets> {
  const { vault } = await services.require(VAULT)();
  const { Wallets } = await import('./wallets.js');
  return new Wallets(vault);
}

const NAME = 'payment';
/** Optional packages. Their presence is checked at the start; the first payment loads them. */
const PACKAGES = ['viem', '@x402/core/schemas'] as const;
const MAX_PAID_RESPONSE_BYTES = 1024 * 1024;

/** The code is loaded only where payments are on, and the chain's libraries only when a payment was left open. */
async function openFamily(context: Context): Promise<ToolFamily> {
  if (!context.settings.payment.enabled) return off(NAME, 'payment.enabled');
  const absent = PACKAGES.filter((one) => !isInstalled(one)).map((one) => one.replace('/schemas', ''));
  if (absent.length > 0) {
    const message = `packages are not installed: ${absent.join(', ')}`;
    return missing(NAME, { message, hint: `Run: npm install ${absent.join(' ')}` });
  }
  try {
    return await startPayments(context, await context.services.require(VAULT)());
  } catch (error) {
    if (!isLangoError(error)) throw error;
    const message = `the vault cannot be opened: ${error.message}`;
    return missing(NAME, { message, hint: error.hint ?? 'See docs/guides/pay.md.' });
  }
}

async function startPayments(context: Context, { vault }: OpenVault): Promise<ToolFamily> {
  const { database, createFetch, logger } = context;
  const { payment } = context.settings;
  const { limits, confirmations, x402 } = payment;
  const { createPayments } = await import('./payments.js');
  const network = networkOf(payment);
  const requestMs = 1_000 * payment.requestSeconds;
  const confirmMs = 1_000 * payment.confirmSeconds;
  const { tools, start, close } = createPayments({
    ...{ network, vault, confirmations, confirmMs, requestMs },
    store: new PaymentStore(database),
    limits: { perTransaction: toUnits(limits.perTransaction), daily: toUnits(limits.daily) },
    maxGasCost: toUnits(limits.gasCost, GAS_DECIMALS),
    rpcFetch: createFetch({ configuredUrl: network.rpcUrl, timeoutMs: requestMs }),
    // A paid endpoint settles on the chain before it responds.
    webFetch: createFetch({ timeoutMs: confirmMs, maxBytes: MAX_PAID_RESPONSE_BYTES }),
    x402: { maxAmount: toUnits(x402.maxAmount), allowHosts: x402.allowHosts },
    logger: logger.child({ family: NAME }),
  });
  const text = `payments move real money on this server, on ${network.title}`;
  const realMoney: NodeFinding = { code: 'real-money', subject: NAME, state: 'warn', text };
  const findings = payment.network === 'base' ? [realMoney] : [];
  start();
  return { name: NAME, state: 'on', tools, findings, note: network.title, close };
}
