import type { Config } from '../config/config.js';
import type { Secrets } from '../config/secrets.js';
import { LangoError } from '../core/errors.js';
import type { Logger } from '../core/logger.js';
import type { SecretGuard } from '../core/secrets.js';
import { noSecrets } from '../core/secrets.js';
import type { Storage } from '../core/store.js';
import { OwnerSecrets } from '../vault/owner-secrets.js';
import type { SealedVault } from '../vault/vault.js';
import { openVault } from '../vault/vault.js';

/** The vault of this node, or why it cannot be opened: the server runs without it then. */
export type VaultAccess =
  | { readonly vault: SealedVault; readonly secrets: OwnerSecrets; readonly problem?: undefined }
  | { readonly vault?: undefined; readonly secrets?: undefined; readonly problem: LangoError };

export interface VaultSources {
  readonly config: Config;
  readonly secrets: Secrets;
  readonly storage: Storage;
  readonly logger: Logger;
}

export async function openVaultAccess(sources: VaultSources): Promise<VaultAccess> {
  const { config, secrets, storage, logger } = sources;
  try {
    const { keyFile } = config.vault;
    const passphrase = secrets.vaultPassphrase;
    const vault = await openVault({ store: storage.vault, keyFile, passphrase });
    return { vault, secrets: await OwnerSecrets.open(vault, logger) };
  } catch (error) {
    if (error instanceof LangoError) return { problem: error };
    throw error;
  }
}

export function guardOf({ secrets }: VaultAccess): SecretGuard {
  return secrets ?? noSecrets;
}
