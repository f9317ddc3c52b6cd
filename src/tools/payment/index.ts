import type { Logger } from '../../core/logger.js';
import type { PaymentStore } from '../../stores/payments.js';
import type { Tool } from '../../core/tool.js';
import { Connection } from './connection.js';
import { Ledger } from './ledger.js';
import type { Network } from './networks.js';
import { PaidFetch } from './paid-fetch.js';
import { Payer, type PaymentServices, type PaymentLimits } from './payer.js';
import { balanceTool, createWalletTool, historyTool, limitsTool, walletInfoTool } from './payment-account.js';
import { sendTool } from './payment-send.js';
import { x402FetchTool, type X402Rules } from './payment-x402-fetch.js';
import { Transfers } from './transfer.js';
import { Wallets, type WalletVault } from './wallets.js';

export { networkOf } from './networks.js';

export interface PaymentOptions {
  readonly network: Network;
  readonly store: PaymentStore;
  readonly vault: WalletVault;
  readonly limits: PaymentLimits;
  /** Maximum gas cost of one transfer, in the smallest unit of the chain's coin. */
  readonly maxGasCost: bigint;
  readonly confirmations: number;
  readonly confirmMs: number;
  readonly requestMs: number;
  /** The egress fetch for the RPC server. */
  readonly rpcFetch: typeof fetch;
  /** The egress fetch for paid endpoints. */
  readonly webFetch: typeof fetch;
  readonly x402: X402Rules;
  readonly logger: Logger;
}

export interface Payments {
  readonly tools: readonly Tool[];
  /** Settles in the background the payments that an earlier process left open. */
  start(): void;
  close(): void;
}

/** A call sends several RPC requests, one after the other. */
const REQUESTS_OF_A_CALL = 6;

/**
 * Creates the payment tools. Loads and requests nothing before a tool is used, unless `start` finds an open payment.
 */
export function createPayments(options: PaymentOptions): Payments {
  const { network, store, limits, confirmations, confirmMs, requestMs, maxGasCost, logger } = options;
  const connection = new Connection({ network, fetch: options.rpcFetch, requestMs });
  const wallets = new Wallets(options.vault);
  const transfers = new Transfers({ connection, store, maxGasCost });
  const ledger = new Ledger({ connection, store, transfers, confirmations, logger });
  const payer = new Payer({ connection, store, wallets, transfers, ledger, limits, confirmMs });
  const queryTimeoutMs = REQUESTS_OF_A_CALL * requestMs;
  const services: PaymentServices = {
    connection,
    store,
    wallets,
    ledger,
    payer,
    limits,
    queryTimeoutMs,
    paymentTimeoutMs: confirmMs + 2 * queryTimeoutMs,
  };
  const { webFetch, x402 } = options;
  const paidFetch = new PaidFetch({ connection, store, wallets, payer, ledger, webFetch, confirmMs });
  return {
    tools: [
      balanceTool(services),
      sendTool(services),
      historyTool(services),
      limitsTool(services),
      walletInfoTool(services),
      createWalletTool(services),
      x402FetchTool(services, paidFetch, x402),
    ],
    start: () => void ledger.settleOpenPayments(),
    close: () => ledger.close(),
  };
}
