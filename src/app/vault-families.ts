import type { Config } from '../config/config.js';
import type { ToolFamily } from '../core/tool.js';
import { createCryptoTools } from '../tools/crypto/index.js';
import { createSecretsTools } from '../tools/secrets/index.js';
import { off, missing } from './family-states.js';
import type { VaultAccess } from './vault.js';

interface VaultFamilyContext {
  readonly config: Config;
  readonly vault: VaultAccess;
}

export function openSecrets({ config, vault }: VaultFamilyContext): ToolFamily {
  if (!config.tools.secrets.enabled) return off('secrets');
  if (vault.problem) return missing('secrets', vault.problem);
  return { name: 'secrets', state: 'on', tools: createSecretsTools(vault.secrets) };
}

export function openCrypto({ config, vault }: VaultFamilyContext): ToolFamily {
  if (!config.tools.crypto.enabled) return off('crypto');
  if (vault.problem) return missing('crypto', vault.problem);
  return { name: 'crypto', state: 'on', tools: createCryptoTools(vault.vault, vault.secrets) };
}
