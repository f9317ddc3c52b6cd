import type { Config } from '../config/config.js';
import { GAS_DECIMALS, toUnits } from '../core/payment.js';
import type { Logger } from '../core/logger.js';
import type { Storage } from '../core/store.js';
import type { ToolFamily } from '../core/tool.js';
import { createEgress } from '../http/egress.js';
import { isInstalled } from '../tools/programs.js';
import { allowedHosts } from './allowed-hosts.js';
import { missing, off } from './family-states.js';
import type { VaultAccess } from './vault.js';

const NAME = 'payment';
const MAX_ANSWER_BYTES = 1024 * 1024;
/** Optional packages: looked for here, loaded when something is paid. */
const NEEDED = ['viem', '@x402/core/client', '@x402/evm', '@x402/fetch'] as const;

interface PaymentContext {
  readonly config: Config;
  readonly storage: Storage;
  readonly vault: VaultAccess;
  readonly logger: Logger;
}

/**
 * The family that pays. Starting it loads nothing of the chain's libraries, unless a payment was left open; where it is
 * off, not even the family.
 */
export async function openPayment({
  config,
  storage,
  vault: access,
  logger,
}: PaymentContext): Promise<ToolFamily> {
  const { payment, egress } = config;
  if (!payment.enabled) return off(NAME, 'payment.enabled');
  const absent = NEEDED.filter((name) => !isInstalled(name)).map((name) => name.replace('/client', ''));
  if (absent.length > 0) {
    const message = `packages are not installed: ${absent.join(', ')}`;
    return missing(NAME, { message, hint: `Run: npm install ${absent.join(' ')}` });
  }
  const { vault, problem } = access;
  if (!vault) {
    const message = `the vault cannot be opened: ${problem.message}`;
    return missing(NAME, { message, hint: problem.hint ?? 'See docs/guides/pay.md.' });
  }
  const { createPayments, networkOf } = await import('../tools/payment/index.js');
  const network = networkOf({ name: payment.network, rpcUrl: payment.rpcUrl, token: payment.tokenAddress });
  const requestMs = 1_000 * payment.requestSeconds;
  const confirmMs = 1_000 * payment.confirmSeconds;
  // The operator named the RPC server, so it may have a private address; nobody else may.
  const allowPrivate = allowedHosts(egress, network.rpcUrl);
  const payments = createPayments({
    network,
    store: storage.payments,
    vault,
    limits: {
      perTransaction: toUnits(payment.limits.perTransaction),
      daily: toUnits(payment.limits.daily),
    },
    maxGasCost: toUnits(payment.limits.gasCost, GAS_DECIMALS),
    confirmations: payment.confirmations,
    confirmMs,
    requestMs,
    rpcFetch: createEgress({ allowPrivate, timeoutMs: requestMs, logger }),
    // A paid endpoint settles on the chain before it answers.
    webFetch: createEgress({ ...egress, timeoutMs: confirmMs, maxBytes: MAX_ANSWER_BYTES, logger }),
    x402: { maxAmount: toUnits(payment.x402.maxAmount), allowHosts: payment.x402.allowHosts },
    logger: logger.child({ family: NAME }),
  });
  if (payment.network === 'base')
    logger.warn('payments move real money on this server', { network: network.title });
  payments.start();
  return {
    name: NAME,
    state: 'on',
    tools: payments.tools,
    note: network.title,
    close: () => payments.close(),
  };
}
