import type { Scope } from './task.js';

/** A person's wallet, to look after. Each owner has one; its key never comes out. */
export interface WalletKeeper {
  /** Rejects with `not-found` when there is none. */
  address(scope: Scope): Promise<string>;
  /**
   * Keeps this private key as the owner's wallet and resolves with its address. Rejects with `invalid-input` for what is
   * no private key, and with `conflict`, with nothing changed, when there is another wallet and it is not to be replaced.
   */
  import(scope: Scope, privateKey: string, options: { readonly replace: boolean }): Promise<string>;
}
