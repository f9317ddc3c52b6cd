import type { PrivateKeyAccount } from 'viem/accounts';
import { isLangoError, LangoError, loadPackage } from '../../core/errors.js';
import type { Scope } from '../../core/task.js';
import type { Vault } from '../../core/vault.js';
import type { Hex } from './connection.js';

/** The vault that stores the wallet keys. */
export type WalletVault = Pick<Vault, 'get' | 'put'>;

/** The key of an owner's wallet in the vault. An owner has one wallet, so the name is fixed. */
const WALLET = { kind: 'wallet', name: 'main' } as const;

const PRIVATE_KEY = /^(?:0x)?([0-9a-fA-F]{64})$/;

/** One wallet for each owner. The key is used for signing only and never leaves this module. */
export class Wallets {
  readonly #vault: WalletVault;

  constructor(vault: WalletVault) {
    this.#vault = vault;
  }

  /** Returns the owner's wallet. Rejects with `not-found` when there is none. */
  async require(scope: Scope): Promise<PrivateKeyAccount> {
    const account = await this.#find(scope);
    if (account) return account;
    throw new LangoError('not-found', 'There is no wallet yet.', {
      hint:
        'Create one with payment_create_wallet ("create a wallet"; requires payment.enabled: true), then send USDC and a ' +
        'little ETH for gas to it.',
    });
  }

  /** Returns the owner's wallet, or creates one. Of two simultaneous calls, the first wins. */
  async create(scope: Scope): Promise<{ readonly address: Hex; readonly isNew: boolean }> {
    const earlier = await this.#find(scope);
    if (earlier) return { address: earlier.address, isNew: false };
    const { generatePrivateKey } = await loadPackage('viem', () => import('viem/accounts'));
    const key = generatePrivateKey();
    const { address } = await accountOf(key);
    try {
      await this.#vault.put(scope, { ...WALLET, value: Buffer.from(key), metadata: { address } }, 0);
      return { address, isNew: true };
    } catch (error) {
      if (!isLangoError(error, 'conflict')) throw error;
      return { address: (await this.require(scope)).address, isNew: false };
    }
  }

  /**
   * Stores a private key as the owner's wallet and resolves with the address. Importing the same key again changes nothing.
   * Rejects with `invalid-input` for an invalid key, and with `conflict`, with nothing changed, when there is another wallet
   * and `replace` is false.
   */
  async import(scope: Scope, text: string, { replace }: { readonly replace: boolean }): Promise<Hex> {
    const digits = PRIVATE_KEY.exec(text.trim())?.[1];
    const account = digits === undefined ? undefined : await accountOf(`0x${digits}`).catch(() => undefined);
    if (!account) {
      const problem = 'This is not a private key. A private key has 64 hex digits, with or without "0x".';
      const hint = 'Nothing was stored. Recovery phrases are not supported.';
      throw new LangoError('invalid-input', problem, { hint });
    }
    const { address } = account;
    // A damaged key cannot be compared, so `replace` overwrites it.
    const earlier = await this.#find(scope).catch((error: unknown) => {
      if (replace && isLangoError(error, 'storage')) return undefined;
      throw error;
    });
    if (earlier?.address === address) return address;
    if (earlier && !replace) {
      const hint = 'Replacing it would lose its key and its funds. To replace it anyway, use --replace.';
      throw new LangoError('conflict', `There is a wallet already: ${earlier.address}.`, { hint });
    }
    const entry = { ...WALLET, value: Buffer.from(`0x${digits}`), metadata: { address } };
    await this.#vault.put(scope, entry, replace ? undefined : 0);
    return address;
  }

  async #find(scope: Scope): Promise<PrivateKeyAccount | undefined> {
    const entry = await this.#vault.get(scope, WALLET.kind, WALLET.name);
    return entry && accountOf(Buffer.from(entry.value).toString());
  }
}

async function accountOf(key: string): Promise<PrivateKeyAccount> {
  const { privateKeyToAccount } = await loadPackage('viem', () => import('viem/accounts'));
  try {
    return privateKeyToAccount(key as Hex);
  } catch {
    // The original error may contain the key, so it is dropped.
    const hint = 'Restore the data folder from a backup. Nothing was signed.';
    throw new LangoError('storage', 'The key of the wallet is damaged.', { hint });
  }
}
