import { Contract } from '../../../core/service.js';
import type { OpenVault } from '../../../core/vault.js';
import type { OwnerSecrets } from './owner-secrets.js';
import type { SealedVault } from './vault.js';

/** The vault with what only its own commands and routes use. */
export interface OpenSealedVault extends OpenVault {
  readonly vault: SealedVault;
  readonly secrets: OwnerSecrets;
  /** The path of the file with the master key, which a vault with a passphrase does not have. */
  readonly keyFile: string;
}

export const SEALED_VAULT = new Contract<() => Promise<OpenSealedVault>>('vault');
