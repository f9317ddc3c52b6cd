import type { Logger } from '../../../core/logger.js';
import type { SqlDatabase } from '../../../core/sql.js';
import { vaultKeyFile } from './key-file.js';
import { OwnerSecrets } from './owner-secrets.js';
import type { OpenSealedVault } from './sealed-vault.js';
import { SqlVaultStore } from './sql-vault-store.js';
import { openVault } from './vault.js';

interface VaultSources {
  readonly keyFile: string;
  readonly passphrase?: string | undefined;
  readonly database: SqlDatabase;
  readonly logger: Logger;
}

/** Opens the vault in the database. Rejects with a `LangoError` that says why it cannot be opened. */
export async function openVaultOf({
  keyFile,
  passphrase,
  database,
  logger,
}: VaultSources): Promise<OpenSealedVault> {
  const store = new SqlVaultStore(database);
  const vault = await openVault({ store, keyFile: vaultKeyFile(keyFile), passphrase });
  return { vault, secrets: await OwnerSecrets.open(vault, logger), keyFile };
}
