import type { HttpRoute } from '../core/http.js';
import type { Vault } from '../core/vault.js';
import type { WalletKeeper } from '../core/payment.js';
import { createWalletRoute } from '../http/wallet-route.js';
import type { VaultAccess } from './vault.js';

/** Where `lango wallet` reaches the vault of a running server. */
export const WALLET_PATH = '/lango/wallet';

/** The chain's library is loaded when a wallet is looked at, not before. */
export function walletKeeper(vault: Vault): WalletKeeper {
  const open = async () => {
    const { Wallets } = await import('../tools/payment/wallets.js');
    return new Wallets(vault);
  };
  return {
    address: async (scope) => (await (await open()).require(scope)).address,
    import: async (scope, privateKey, options) => (await open()).import(scope, privateKey, options),
  };
}

/** A caller's own wallet; while the vault cannot be opened, each request is told why. */
export function walletRoute({ vault, problem }: VaultAccess): HttpRoute {
  const keeper = (): WalletKeeper => {
    if (problem) throw problem;
    return walletKeeper(vault);
  };
  return createWalletRoute({ path: WALLET_PATH, keeper });
}
