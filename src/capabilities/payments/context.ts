import type { Logger } from '../../core/logger.js';
import type { Connection } from './connection.js';
import type { Network } from './networks.js';
import type { PaymentStore } from './payment-store.js';
import type { Wallets, WalletVault } from './wallets.js';

export interface PaymentOptions {
  readonly network: Network;
  readonly store: PaymentStore;
  readonly vault: WalletVault;
  /** Amounts in the token's smallest unit. */
  readonly limits: { readonly perTransaction: bigint; readonly daily: bigint };
  /** Maximum gas cost of one transfer, in the smallest unit of the chain's coin. */
  readonly maxGasCost: bigint;
  /** Number of blocks after which a transfer counts as confirmed. */
  readonly confirmations: number;
  /** Maximum time that a call waits for confirmation by the network. */
  readonly confirmMs: number;
  /** Time limit of one request to the RPC server. */
  readonly requestMs: number;
  /** The egress fetch for the RPC server. */
  readonly rpcFetch: typeof fetch;
  /** The egress fetch for paid endpoints. It limits the time and the size of each response. */
  readonly webFetch: typeof fetch;
  readonly x402: {
    /** Maximum price of one request, in the token's smallest unit. */
    readonly maxAmount: bigint;
    /** Hosts that may be paid, as `name` or `name:port`. */
    readonly allowHosts: readonly string[];
  };
  readonly logger: Logger;
}

/** The settings and parts that all payment tools share. */
export interface PaymentContext extends PaymentOptions {
  readonly connection: Connection;
  readonly wallets: Wallets;
  /** Time limit of a call that only queries. */
  readonly queryTimeoutMs: number;
  /** Time limit of a call that pays. */
  readonly paymentTimeoutMs: number;
}
