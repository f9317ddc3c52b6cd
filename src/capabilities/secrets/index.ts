import { stat } from 'node:fs/promises';
import { defineCapability, type CapabilityContext, type SentenceRow } from '../../core/capability.js';
import type { Command, CommandOption } from '../../core/command.js';
import { LangoError, isLangoError } from '../../core/errors.js';
import type { KeepingNode } from '../../core/operation.js';
import { SECRETS } from '../../core/secrets.js';
import { offer } from '../../core/service.js';
import { missing, off, type ToolFamily } from '../../core/tool-family.js';
import { SIGN_INS, SIGN_OUT, VAULT } from '../../core/vault.js';
import { VAULT_OPERATIONS } from '../../core/vault-operations.js';
import { OTHERS_PERMISSIONS } from '../../disk/private-file.js';
import { SECRET_SETTINGS } from './settings.js';
import { openSealedVault, SEALED_VAULT, type OpenSealedVault } from './vault/sealed-vault.js';
import { VAULT_TABLES } from './vault/vault-store.js';

type Context = CapabilityContext<typeof SECRET_SETTINGS>;

const SENTENCES: readonly SentenceRow[] = [
  ['store the secret {value} as {name}', 'secrets_store'],
  ['store the secret {value} as {name} for commands', 'secrets_store', { for: ['exec'] }],
  ['which secrets are there?', 'secrets_list'],
  ['show the secret {name}', 'secrets_get'],
  ['delete the secret {name}', 'secrets_delete'],
  ['hash {text...}', 'crypto_hash'],
  ['hash {text...} with {algorithm}', 'crypto_hash'],
  ['create a key named {name}', 'crypto_create_key'],
  ['create a {algorithm} key named {name}', 'crypto_create_key'],
  ['create an encryption key named {name}', 'crypto_create_key', { algorithm: 'aes256' }],
  ['which keys are there?', 'crypto_keys'],
  ['sign {text...} with the key {key}', 'crypto_sign'],
  ['sign {text...} with the key {key} as a jws', 'crypto_sign', { format: 'jws' }],
  ['verify the signature {signature} of {text...} with the key {key}', 'crypto_verify'],
  ['encrypt {text...} with the key {key}', 'crypto_encrypt'],
  ['decrypt {ciphertext} with the key {key}', 'crypto_decrypt'],
  ['decrypt {ciphertext} with the key {key} and save it as {saveAs}', 'crypto_decrypt'],
];

const WHERE: readonly CommandOption[] = [
  {
    flags: '--for <places>',
    description: 'where it may be used: exec,http:HOST,browser:HOST',
    isRepeated: true,
  },
  {
    flags: '--host <name>',
    description: 'a host that it may be sent to; may be given several times',
    isRepeated: true,
  },
];

const load = () => import('./commands.js');

/** `lango secrets` */
const COMMANDS: readonly Command[] = [
  { usage: 'secrets', description: 'store and manage secrets', works: 'owner' },
  {
    usage: 'secrets set <name>',
    description: 'store a secret; its value is read from the terminal or standard input',
    options: [...WHERE, { flags: '--replace', description: 'replace an existing secret of this name' }],
    works: 'owner',
    run: async (call, name) => (await load()).setSecret(call, name),
  },
  {
    usage: 'secrets list',
    description: 'list the secrets, without their values',
    works: 'owner',
    run: async (call) => (await load()).listSecrets(call),
  },
  {
    usage: 'secrets allow <name>',
    description: 'set where a secret may be used; without --for: nowhere',
    options: WHERE,
    works: 'owner',
    run: async (call, name) => (await load()).allowSecret(call, name),
  },
  {
    usage: 'secrets delete <name>',
    description: 'delete a secret for good',
    works: 'owner',
    run: async (call, name) => (await load()).deleteSecret(call, name),
  },
  {
    usage: 'secrets rotate',
    description: 'encrypt the vault with a new master key; stop the server first',
    options: [
      {
        flags: '--passphrase',
        description: 'use a new passphrase, read from the terminal or standard input',
      },
      { flags: '--key-file', description: 'use a new random key in the key file' },
    ],
    works: 'folder',
    run: async (call) => (await load()).rotateKey(call),
  },
];

/** The vault: secrets that agents use by reference, and keys, encrypted at rest. */
export const secrets = defineCapability({
  name: 'secrets',
  settings: SECRET_SETTINGS,
  rules: [
    {
      keys: ['vault.keyFile'],
      check: ({ vault }) => ({ guarded: [{ file: vault.keyFile, what: 'the key file of the vault' }] }),
    },
  ],
  variables: [
    {
      name: 'LANGO_VAULT_PASSPHRASE',
      description: 'The passphrase of the vault, if the file has no `vault.passphrase`.',
      path: ['vault', 'passphrase'],
      opensData: true,
    },
  ],
  tables: VAULT_TABLES,
  operations: VAULT_OPERATIONS,
  keeps: {
    secrets: {
      what: 'the secrets that commands and requests refer to',
      right: 'get the values of secrets, each for a use that its owner allowed',
    },
  },
  sentences: SENTENCES,
  commands: COMMANDS,
  decidedSingly: /^(secrets|crypto)_/,
  /** Checks that no other user can read the key of the vault. */
  async diagnose({ settings }) {
    const { keyFile, passphrase } = settings.vault;
    const found = await stat(keyFile).catch(() => undefined);
    const isOpen = found !== undefined && (found.mode & OTHERS_PERMISSIONS) !== 0;
    if (isOpen) {
      const text = `${keyFile} is open to other users.`;
      return [{ subject: 'vault', state: 'fail', text, hint: `Run: chmod 600 ${keyFile}` }];
    }
    const missing =
      passphrase === undefined
        ? `a new one makes ${keyFile} for its first secret or key`
        : 'opened with a passphrase';
    const text = found ? `its key is in ${keyFile}; keep a copy elsewhere` : missing;
    return [{ subject: 'vault', state: 'ok', text }];
  },
  open(context) {
    let opened: Promise<OpenSealedVault> | undefined;
    const openVault = () => (opened ??= openSealedVault(context));
    const keeping = () => context.keepingNode('secrets');
    const ownSecrets = async () => {
      const node = keeping();
      if (!node) return (await openVault()).secrets;
      const text = 'This server keeps no secrets: it uses those of another server.';
      throw new LangoError('not-supported', text, { hint: `Name that server: --url ${node.url}` });
    };
    return {
      offers: [
        offer(VAULT, openVault),
        offer(SEALED_VAULT, openVault),
        offer(SECRETS, async () => {
          const { openAccess } = await import('./access.js');
          return openAccess(openVault, keeping(), context.logger);
        }),
      ],
      operations: {
        listSecrets: async (_input, { scope }) => ({ secrets: await (await ownSecrets()).list(scope) }),
        storeSecret: async (input, { scope }) => ({ secret: await (await ownSecrets()).store(scope, input) }),
        allowSecret: async ({ name, ...permission }, { scope }) => ({
          secret: await (await ownSecrets()).allow(scope, name, permission),
        }),
        async deleteSecret({ name }, { scope }) {
          const store = await ownSecrets();
          const signOut = name.startsWith(SIGN_INS) ? context.services.find(SIGN_OUT) : undefined;
          // The issuer gets the sign-in that was deleted. A damaged one can be deleted too.
          const entry = signOut && (await store.open(scope, name).catch(() => undefined));
          if (await store.delete(scope, name))
            return { deleted: name, ...(await signOut?.(name, entry?.value)) };
          const hint = 'See: lango secrets list';
          throw new LangoError('not-found', `There is no secret "${name}".`, { hint });
        },
        useSecret: async ({ name, ...use }, { scope }) => ({
          value: await (await ownSecrets()).use(scope, name, use),
        }),
      },
      families: async () => openFamilies(context, openVault, keeping()),
    };
  },
});

async function openFamilies(
  { settings }: Context,
  openVault: () => Promise<OpenSealedVault>,
  keeping: KeepingNode | undefined,
): Promise<readonly ToolFamily[]> {
  const note = `a2a.keptAt.secrets: the vault is at ${keeping?.url}`;
  const open = async (
    name: 'secrets' | 'crypto',
    toolsOf: (vault: OpenSealedVault) => Promise<ToolFamily['tools']>,
  ): Promise<ToolFamily> => {
    if (!settings[`tools.${name}`].enabled) return off(name);
    if (keeping) return { name, state: 'off', tools: [], note };
    try {
      return { name, state: 'on', tools: await toolsOf(await openVault()) };
    } catch (error) {
      if (!isLangoError(error)) throw error;
      return missing(name, error);
    }
  };
  // The order in which the vault's description names what it can do.
  return Promise.all([
    open('crypto', async ({ vault, secrets }) =>
      (await import('./crypto/index.js')).createCryptoTools(vault, secrets),
    ),
    open('secrets', async ({ secrets }) => (await import('./secrets-tools.js')).createSecretsTools(secrets)),
  ]);
}
