import type { LoadedConfig } from '../config/load.js';
import type { Logger } from '../core/logger.js';
import type { SecretKeeper } from '../core/secrets.js';
import type { Scope } from '../core/task.js';
import type { WalletKeeper } from '../core/payment.js';
import { openHomeStorage } from './home-storage.js';
import { openVaultAccess } from './vault.js';
import { walletKeeper } from './wallet.js';

/** The vault of a data folder, opened by a command while no server has it. */
export interface HomeVault {
  readonly secrets: SecretKeeper;
  readonly wallets: WalletKeeper;
  /** Whose entries the command is about. */
  readonly scope: Scope;
  /** Where its master key comes from; undefined before the first value. */
  readonly source: 'file' | 'passphrase' | undefined;
  /** Puts everything under a new master key: from `passphrase`, or a random one in the key file. */
  rotate(passphrase?: string): Promise<void>;
  close(): Promise<void>;
}

interface HomeVaultOptions {
  readonly logger: Logger;
  /** Whose entries; default: those of the server's own token. */
  readonly owner?: string | undefined;
}

/** Undefined when a server has it open. Rejects, with nothing changed, when it cannot be opened. */
export async function openHomeVault(
  loaded: LoadedConfig,
  { logger, owner }: HomeVaultOptions,
): Promise<HomeVault | undefined> {
  const { config, secrets } = loaded;
  const home = await openHomeStorage(loaded, logger);
  if (!home) return undefined;
  const { storage } = home;
  const scope = owner === undefined ? home.scope : { ...home.scope, owner };
  const close = (): Promise<void> => storage.close();
  const access = await openVaultAccess({ config, secrets, storage, logger });
  if (access.problem) {
    await close();
    throw access.problem;
  }
  const { vault } = access;
  return {
    secrets: access.secrets,
    wallets: walletKeeper(vault),
    scope,
    get source() {
      return vault.source;
    },
    rotate: (passphrase) => vault.rotate(passphrase),
    close,
  };
}
