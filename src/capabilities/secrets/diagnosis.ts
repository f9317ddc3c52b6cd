import { stat } from 'node:fs/promises';
import type { Diagnosis, DiagnosisContext } from '../../core/capability.js';
import { OTHERS_PERMISSIONS } from '../../disk/private-file.js';
import type { SECRET_SETTINGS } from './settings.js';

/** Checks that no other user can read the key of the vault. */
export async function diagnoseVault({
  settings,
}: DiagnosisContext<typeof SECRET_SETTINGS>): Promise<readonly Diagnosis[]> {
  const { keyFile, passphrase } = settings.vault;
  const subject = 'vault';
  const ok = (text: string): readonly Diagnosis[] => [{ subject, state: 'ok', text }];
  const found = await stat(keyFile).catch(() => undefined);
  if (!found && passphrase !== undefined) return ok('opened with a passphrase');
  if (!found) return ok(`a new one makes ${keyFile} for its first secret or key`);
  if ((found.mode & OTHERS_PERMISSIONS) === 0) return ok(`its key is in ${keyFile}; keep a copy elsewhere`);
  const hint = `Run: chmod 600 ${keyFile}`;
  return [{ subject, state: 'fail', text: `${keyFile} is open to other users.`, hint }];
}
