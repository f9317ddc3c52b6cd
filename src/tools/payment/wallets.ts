import type { PrivateKeyAccount } from 'viem/accounts';
import { isLangoError, LangoError } from '../../core/errors.js';
import type { Scope } from '../../core/task.js';
import type { Vault } from '../../core/vault.js';
import type { Hex } from './connection.js';

/** Where the keys of wallets are kept. */
export type WalletVault = Pick<Vault, 'get' | 'put'>;

/** An owner has one wallet, so its entry needs no name of its own. */
const ENTRY = { kind: 'wallet', name: 'main' } as const;

const PRIVATE_KEY = /^(?:0x)?([0-9a-fA-F]{64})$/;

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
      hint:
        'Make one with payment_create_wallet ("create a wallet"; payment.enabled has to be true), then send USDC and a ' +
        'little ETH for gas to it.',
    });
  }

  /** The owner's wallet, made if there is none: of two that are made at once, the first one stays. */
  async create(scope: Scope): Promise<{ readonly address: Hex; readonly isNew: boolean }> {
    const earlier = await this.#find(scope);
    if (earlier) return { address: earlier.address, isNew: false };
    const { generatePrivateKey } = await loadAccounts();
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

  /** See `WalletKeeper`. The same key again changes nothing. */
  async import(scope: Scope, text: string, { replace }: { readonly replace: boolean }): Promise<Hex> {
    const digits = PRIVATE_KEY.exec(text.trim())?.[1];
    const account = digits === undefined ? undefined : await accountOf(`0x${digits}`).catch(() => undefined);
    if (!account) {
      throw new LangoError(
        'invalid-input',
        'This is no private key: it is 64 hex digits, with or without "0x".',
        {
          hint: 'Nothing was kept. Words of a recovery phrase are not taken.',
        },
      );
    }
    const { address } = account;
    // One that is damaged cannot be told from another one.
    const earlier = await this.#find(scope).catch((error: unknown) => {
      if (replace && isLangoError(error, 'storage')) return undefined;
      throw error;
    });
    if (earlier?.address === address) return address;
    if (earlier && !replace) {
      throw new LangoError('conflict', `There is a wallet already: ${earlier.address}.`, {
        hint: 'Its key would be lost, and what it holds with it. With --replace it is forgotten all the same.',
      });
    }
    const entry = { ...ENTRY, value: Buffer.from(`0x${digits}`), metadata: { address } };
    await this.#vault.put(scope, entry, replace ? undefined : 0);
    return address;
  }

  async #find(scope: Scope): Promise<PrivateKeyAccount | undefined> {
    const kept = await this.#vault.get(scope, ENTRY.kind, ENTRY.name);
    return kept && accountOf(Buffer.from(kept.value).toString());
  }
}

async function accountOf(key: string): Promise<PrivateKeyAccount> {
  const { privateKeyToAccount } = await loadAccounts();
  try {
    return privateKeyToAccount(key as Hex);
  } catch {
    // What was thrown may hold the key.
    throw new LangoError('storage', 'The key of the wallet is damaged.', {
      hint: 'Restore the data folder from a backup. Nothing was signed.',
    });
  }
}

/** An optional package, and large: loaded when a wallet is used. */
async function loadAccounts() {
  try {
    return await import('viem/accounts');
  } catch (cause) {
    throw new LangoError('not-supported', 'The package viem is not installed, so no wallet can be used.', {
      hint: 'Run: npm install viem',
      cause,
    });
  }
}
