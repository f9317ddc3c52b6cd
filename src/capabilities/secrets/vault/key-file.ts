import { PrivateFile } from '../../../disk/private-file.js';

/** The file of `vault.keyFile`. Its folder must exist: a missing one may be a disk that is not mounted and holds the key. */
export function vaultKeyFile(path: string): PrivateFile {
  const hint = 'Let this user read and write it, or name another file in vault.keyFile.';
  return new PrivateFile(path, { title: 'key file of the vault', hint, createsFolder: false });
}
