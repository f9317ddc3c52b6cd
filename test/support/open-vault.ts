import { openSqliteStores } from '../../lab/all-stores.js';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Logger } from '../../src/core/logger.js';
import { silentLogger } from '../../src/core/logger.js';
import { OwnerSecrets } from '../../src/capabilities/secrets/vault/owner-secrets.js';
import type { SealedVault } from '../../src/capabilities/secrets/vault/vault.js';
import { openVault } from '../../src/capabilities/secrets/vault/vault.js';

export interface TestVault {
  readonly vault: SealedVault;
  readonly secrets: OwnerSecrets;
  close(): Promise<void>;
}

/** A real vault in a folder of its own. */
export async function openTestVault(logger: Logger = silentLogger): Promise<TestVault> {
  const home = mkdtempSync(path.join(tmpdir(), 'lango-vault-'));
  const file = path.join(home, 'lango.db');
  const storage = openSqliteStores({ file, synchronous: 'normal', logger: silentLogger });
  const keyFile = path.join(home, 'vault.key');
  const vault = await openVault({
    store: storage.vault,
    keyFile,
    passphrase: undefined,
  });
  return {
    vault,
    secrets: await OwnerSecrets.open(vault, logger),
    async close() {
      await storage.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}
