import type { PrivateKeyAccount } from 'viem/accounts';
import { isLangoError, LangoError } from '../../core/errors.js';
import type { Scope } from '../../core/task.js';
import type { Vault } from '../../core/vault.js';
import type { Hex } from './connection.js';

/** Where the keys of wallets are kept. */
export type WalletVault = Pick<Vault, 'get' | 'put'>;

/** An owner has one wallet, so its entry needs no name of its own. */
const ENTRY = { kind: 'wallet', name: 'main' } as const;

/** One wallet for each owner; its key stays between the vault and the signature. */
export class Wallets {
  readonly #vault: WalletVault;

  constructor(vault: WalletVault) {
    this.#vault = vault;
  }

  /** Throws `not-found` when the owner has none. */
  async require(scope: Scope): Promise<PrivateKeyAccount> {
    const account = await this.#find(scope);
    if (account) return account;
    throw new LangoError('not-found', 'There is no wallet yet.', {
      hint: 'Make one with payment_create_wallet ("create a wallet"), then send USDC and a little ETH for gas to it.',
    });
  }

  /** The owner's wallet, made if there is none: of two that are made at once, the first one stays. */
  async create(scope: Scope): Promise<{ readonly address: Hex; readonly isNew: boolean }> {
    const earlier = await this.#find(scope);
    if (earlier) return { address: earlier.address, isNew: false };
    const { generatePrivateKey } = await import('viem/accounts');
    const key = generatePrivateKey();
    const { address } = await accountOf(key);
    try {
      await this.#vault.put(scope, { ...ENTRY, value: Buffer.from(key), metadata: { address } }, 0);
      return { address, isNew: true };
    } catch (error) {
      if (!isLangoError(error, 'conflict')) throw error;
      return { address: (await this.require(scope)).address, isNew: false };
    }
  }

  async #find(scope: Scope): Promise<PrivateKeyAccount | undefined> {
    const kept = await this.#vault.get(scope, ENTRY.kind, ENTRY.name);
    return kept && accountOf(Buffer.from(kept.value).toString());
  }
}

async function accountOf(key: string): Promise<PrivateKeyAccount> {
  const { privateKeyToAccount } = await import('viem/accounts');
  try {
    return privateKeyToAccount(key as Hex);
  } catch {
    // What was thrown may hold the key.
    throw new LangoError('storage', 'The key of the wallet is damaged.', {
      hint: 'Restore the data folder from a backup. Nothing was signed.',
    });
  }
}
