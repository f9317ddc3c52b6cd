import { z } from 'zod';
import type { SecretStore, Vault } from '../../../core/vault.js';
import { defineTool, type Tool } from '../../../core/tool.js';
import { generateKey, KEY_ALGORITHMS } from './algorithms.js';
import { cryptoDecryptTool, cryptoEncryptTool, cryptoHashTool } from './crypto-encrypt.js';
import { cryptoSignTool, cryptoVerifyTool } from './crypto-sign.js';
import { describedKey, keyField } from './keys.js';

/** The tools that hash, sign and encrypt. Private keys stay in `vault`; decrypted text is stored in `secrets`. */
export function createCryptoTools(vault: Vault, secrets: SecretStore): readonly Tool[] {
  return [
    cryptoHashTool(),
    cryptoKeysTool(vault),
    cryptoCreateKeyTool(vault),
    cryptoSignTool(vault),
    cryptoVerifyTool(vault),
    cryptoEncryptTool(vault),
    cryptoDecryptTool(vault, secrets),
  ];
}

function cryptoKeysTool(vault: Vault): Tool {
  return defineTool({
    name: 'crypto_keys',
    description: 'Lists the keys with their algorithms and public parts. Private parts are never returned.',
    schema: z.strictObject({}),
    effect: 'pure',
    async execute(_input, scope) {
      const items = await vault.list(scope, 'key');
      if (items.length === 0) return { content: 'There are no keys.' };
      const described = items.map(async ({ name }) => {
        const entry = await vault.get(scope, 'key', name).catch(() => undefined);
        return entry ? describedKey(entry) : { name, damaged: 'it cannot be read any more' };
      });
      return { content: { keys: await Promise.all(described) } };
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

function cryptoCreateKeyTool(vault: Vault): Tool {
  return defineTool({
    name: 'crypto_create_key',
    description:
      'Creates a key for signatures (ed25519, p256) or encryption (aes256) in the vault. Returns its public part; the ' +
      'private part never leaves the vault.',
    schema: createKeySchema,
    effect: 'keyed',
    danger: 'safe',
    async execute({ name, algorithm }, { key: call, ...scope }) {
      // A repeated call returns the key that it created.
      const known = await vault.get(scope, 'key', name);
      if (known?.metadata['call'] === call) return { content: { created: describedKey(known) } };
      const value = generateKey(algorithm);
      const item = await vault.put(scope, { kind: 'key', name, value, metadata: { algorithm, call } }, 0);
      return { content: { created: describedKey({ ...item, value }) } };
    },
  });
}
