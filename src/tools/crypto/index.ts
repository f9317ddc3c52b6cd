import type { SecretKeeper } from '../../core/secrets.js';
import type { Tool } from '../../core/tool.js';
import type { Vault } from '../../stores/vault.js';
import { cryptoDecryptTool, cryptoEncryptTool, cryptoHashTool } from './crypto-encrypt.js';
import { cryptoCreateKeyTool, cryptoKeysTool } from './crypto-keys.js';
import { cryptoSignTool, cryptoVerifyTool } from './crypto-sign.js';
import { Keys } from './keys.js';

/** The tools that hash, sign and encrypt. Private keys stay in `vault`; decrypted text goes to `keeper`. */
export function createCryptoTools(vault: Vault, keeper: SecretKeeper): readonly Tool[] {
  const keys = new Keys(vault);
  return [
    cryptoHashTool(),
    cryptoKeysTool(keys),
    cryptoCreateKeyTool(keys),
    cryptoSignTool(keys),
    cryptoVerifyTool(keys),
    cryptoEncryptTool(keys),
    cryptoDecryptTool(keys, keeper),
  ];
}
