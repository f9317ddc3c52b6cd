import { z } from 'zod';
import type { SecretStore, Vault } from '../../../core/vault.js';
import { defineTool, type Tool } from '../../../core/tool.js';
import { generateKey, KEY_ALGORITHMS } from './algorithms.js';
import { cryptoDecryptTool, cryptoEncryptTool, cryptoHashTool } from './crypto-encrypt.js';
import { cryptoSignTool, cryptoVerifyTool } from './crypto-sign.js';
import { keyField, Keys } from './keys.js';

/** The tools that hash, sign and encrypt. Private keys stay in `vault`; decrypted text is stored in `secrets`. */
export function createCryptoTools(vault: Vault, secrets: SecretStore): readonly Tool[] {
  const keys = new Keys(vault);
  return [
    cryptoHashTool(),
    cryptoKeysTool(keys),
    cryptoCreateKeyTool(keys),
    cryptoSignTool(keys),
    cryptoVerifyTool(keys),
    cryptoEncryptTool(keys),
    cryptoDecryptTool(keys, secrets),
  ];
}

function cryptoKeysTool(keys: Keys): Tool {
  return defineTool({
    name: 'crypto_keys',
    description: 'Lists the keys with their algorithms and public parts. Private parts are never returned.',
    schema: z.strictObject({}),
    effect: 'pure',
    async execute(_input, scope) {
      const list = await keys.list(scope);
      return { content: list.length === 0 ? 'There are no keys.' : { keys: list } };
    },
  });
}

const createKeySchema = z.strictObject({
  name: keyField().describe('The name of the new key'),
  algorithm: z
    .enum(KEY_ALGORITHMS)
    .default('ed25519')
    .describe('ed25519 (default) and p256 sign; aes256 encrypts'),
});

function cryptoCreateKeyTool(keys: Keys): Tool {
  return defineTool({
    name: 'crypto_create_key',
    description:
      'Creates a key for signatures (ed25519, p256) or encryption (aes256) in the vault. Returns its public part; the ' +
      'private part never leaves the vault.',
    schema: createKeySchema,
    effect: 'keyed',
    danger: 'safe',
    async execute({ name, algorithm }, { key: call, ...scope }) {
      const value = generateKey(algorithm);
      return { content: { created: await keys.create(scope, { name, algorithm, call, value }) } };
    },
  });
}
