import { Connection } from './connection.js';
import type { PaymentContext, PaymentOptions } from './context.js';
import { Ledger } from './ledger.js';
import { PaidFetch } from './paid-fetch.js';
import { Payer } from './payer.js';
import { balanceTool, createWalletTool, historyTool, limitsTool, walletInfoTool } from './payment-account.js';
import { sendTool } from './payment-send.js';
import { x402FetchTool } from './payment-x402-fetch.js';
import { Wallets } from './wallets.js';

/** A call sends several RPC requests, one after the other. */
const REQUESTS_PER_CALL = 6;

/** Creates the payment tools. Loads and requests nothing before a tool is used, unless `start` finds an open payment. */
export function createPayments(options: PaymentOptions) {
  const { network, rpcFetch, requestMs, confirmMs } = options;
  const queryTimeoutMs = REQUESTS_PER_CALL * requestMs;
  const context: PaymentContext = {
    ...options,
    connection: new Connection(network, rpcFetch, requestMs),
    wallets: new Wallets(options.vault),
    queryTimeoutMs,
    paymentTimeoutMs: confirmMs + 2 * queryTimeoutMs,
  };
  const ledger = new Ledger(context);
  const payer = new Payer(context, ledger);
  const paidFetch = new PaidFetch(context, payer, ledger);
  return {
    tools: [
      balanceTool(context),
      sendTool(context, payer),
      historyTool(context, ledger),
      limitsTool(context),
      walletInfoTool(context),
      createWalletTool(context),
      x402FetchTool(context, payer, paidFetch),
    ],
    /** Settles in the background the payments that an earlier process left open. */
    start: () => void ledger.settleOpenPayments(),
    close: () => ledger.close(),
  };
}
