import type { Logger } from '../../core/logger.js';
import type { PaymentStore } from '../../core/payment.js';
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
  /** What the gas of one transfer may cost at most, in the smallest unit of the chain's coin. */
  readonly maxGasCost: bigint;
  readonly confirmations: number;
  readonly confirmMs: number;
  readonly requestMs: number;
  /** The way to the RPC server. */
  readonly rpcFetch: typeof fetch;
  /** The way to paid endpoints. */
  readonly webFetch: typeof fetch;
  readonly x402: X402Rules;
  readonly logger: Logger;
}

export interface Payments {
  readonly tools: readonly Tool[];
  /** Looks after what an earlier process left open; in the background. */
  start(): void;
  close(): void;
}

/** A call asks the chain a few times, one after the other. */
const REQUESTS_OF_A_CALL = 6;

/** The family that pays. Nothing of it is loaded or asked before a tool is used, or something is found open at `start`. */
export function createPayments(options: PaymentOptions): Payments {
  const { network, store, limits, confirmations, confirmMs, requestMs, maxGasCost, logger } = options;
  const connection = new Connection({ network, fetch: options.rpcFetch, requestMs });
  const wallets = new Wallets(options.vault);
  const transfers = new Transfers({ connection, store, maxGasCost });
  const ledger = new Ledger({ connection, store, transfers, confirmations, logger });
  const payer = new Payer({ connection, store, wallets, transfers, ledger, limits, confirmMs });
  const askMs = REQUESTS_OF_A_CALL * requestMs;
  const services: PaymentServices = {
    connection,
    store,
    wallets,
    ledger,
    payer,
    limits,
    queryTimeoutMs: askMs,
    paymentTimeoutMs: confirmMs + 2 * askMs,
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
