import type { Command, CommandOption } from '../../core/command.js';

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
export const SECRET_COMMANDS: readonly Command[] = [
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
