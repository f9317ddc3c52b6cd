import { defineCapability, type CapabilityContext } from '../../core/capability.js';
import { isLangoError } from '../../core/errors.js';
import { missing, off, type NodeFinding, type ToolFamily } from '../../core/tool-family.js';
import { VAULT, type OpenVault } from '../../core/vault.js';
import { isInstalled } from '../../disk/programs.js';
import { toUnits } from './amount.js';
import { GAS_DECIMALS } from './decimal.js';
import { PAYMENT_OPERATIONS } from './operations.js';
import type { WalletStore } from './payment-store.js';
import { PAYMENT_SENTENCES } from './sentences.js';
import { PAYMENT_SETTINGS } from './settings.js';
import { SqlPaymentStore } from './sql-payment-store.js';
import { PAYMENT_TABLES } from './tables.js';

type Context = CapabilityContext<typeof PAYMENT_SETTINGS>;

/** Payments of USDC on Base, from a wallet in the vault, and for paid endpoints (x402). */
export const payments = defineCapability({
  name: 'payments',
  settings: PAYMENT_SETTINGS,
  tables: PAYMENT_TABLES,
  operations: PAYMENT_OPERATIONS,
  sentences: PAYMENT_SENTENCES,
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
      run: async (call) => (await import('./commands.js')).showAddress(call),
    },
    {
      usage: 'wallet import',
      description: 'import the private key of a wallet that you already have',
      options: [{ flags: '--replace', description: 'delete the key of the present wallet' }],
      works: 'owner',
      run: async (call) => (await import('./commands.js')).importKey(call),
    },
  ],
  open: (context) => ({
    operations: {
      readWallet: async (_input, { scope }) => ({
        address: await (await openWallets(context)).address(scope),
      }),
      importWallet: async ({ privateKey, replace }, { scope }) => ({
        address: await (await openWallets(context)).import(scope, privateKey, { replace }),
      }),
    },
    families: async () => [await openFamily(context)],
  }),
});

/** Loads the library of the chain when a wallet is used, not before. */
async function openWallets({ services }: Context): Promise<WalletStore> {
  const { vault } = await services.require(VAULT)();
  const { Wallets } = await import('./wallets.js');
  const wallets = new Wallets(vault);
  return {
    address: async (scope) => (await wallets.require(scope)).address,
    import: (scope, privateKey, options) => wallets.import(scope, privateKey, options),
  };
}

const NAME = 'payment';
/** Optional packages. Their presence is checked at the start; the first payment loads them. */
const PACKAGES = ['viem', '@x402/core/schemas'] as const;
const MAX_PAID_ANSWER_BYTES = 1024 * 1024;

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
  const { settings, database, createFetch, logger } = context;
  const { payment } = settings;
  const { createPayments, networkOf } = await import('./payments.js');
  const network = networkOf({ name: payment.network, rpcUrl: payment.rpcUrl, token: payment.tokenAddress });
  const requestMs = 1_000 * payment.requestSeconds;
  const confirmMs = 1_000 * payment.confirmSeconds;
  const open = createPayments({
    network,
    store: new SqlPaymentStore(database),
    vault,
    limits: {
      perTransaction: toUnits(payment.limits.perTransaction),
      daily: toUnits(payment.limits.daily),
    },
    maxGasCost: toUnits(payment.limits.gasCost, GAS_DECIMALS),
    confirmations: payment.confirmations,
    confirmMs,
    requestMs,
    rpcFetch: createFetch({ configuredUrl: network.rpcUrl, timeoutMs: requestMs }),
    // A paid endpoint settles on the chain before it answers.
    webFetch: createFetch({ timeoutMs: confirmMs, maxBytes: MAX_PAID_ANSWER_BYTES }),
    x402: { maxAmount: toUnits(payment.x402.maxAmount), allowHosts: payment.x402.allowHosts },
    logger: logger.child({ family: NAME }),
  });
  const text = `payments move real money on this server, on ${network.title}`;
  const realMoney: NodeFinding = { code: 'real-money', subject: NAME, state: 'warn', text };
  open.start();
  return {
    name: NAME,
    state: 'on',
    tools: open.tools,
    findings: payment.network === 'base' ? [realMoney] : [],
    note: network.title,
    close: () => open.close(),
  };
}
