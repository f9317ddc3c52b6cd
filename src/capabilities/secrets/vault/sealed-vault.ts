import type { CapabilityContext } from '../../../core/capability.js';
import { Contract } from '../../../core/service.js';
import type { OpenVault } from '../../../core/vault.js';
import type { SECRET_SETTINGS } from '../settings.js';
import type { OwnerSecrets } from './owner-secrets.js';
import { VaultStore } from './vault-store.js';
import type { SealedVault } from './vault.js';

/** The vault with what only its own commands and routes use. */
export interface OpenSealedVault extends OpenVault {
  readonly vault: SealedVault;
  readonly secrets: OwnerSecrets;
  /** The path of the file with the master key, which a vault with a passphrase does not have. */
  readonly keyFile: string;
}

export const SEALED_VAULT = new Contract<() => Promise<OpenSealedVault>>('vault');

type Context = Pick<CapabilityContext<typeof SECRET_SETTINGS>, 'settings' | 'database' | 'logger'>;

/** Opens the vault in the database. Rejects with a `LangoError` that says why it cannot be opened. */
export async function openSealedVault({ settings, database, logger }: Context): Promise<OpenSealedVault> {
  const { openVault } = await import('./vault.js');
  const { OwnerSecrets } = await import('./owner-secrets.js');
  const { keyFile, passphrase } = settings.vault;
  const vault = await openVault({ store: new VaultStore(database), keyFile, passphrase });
  return { vault, secrets: await OwnerSecrets.open(vault, logger), keyFile };
}
