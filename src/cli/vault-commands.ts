import type { Command } from 'commander';
import { collect, withFolders, withServer } from './flags.js';
import type { Act } from './command.js';
import type { PermissionFlags, RotateFlags, SecretFlags, SetFlags } from './secrets.js';
import type { ImportFlags, WalletFlags } from './wallet.js';

export function addSecretCommands(secrets: Command, act: Act): void {
  const withPermission = (command: Command): Command =>
    withVault(command)
      .option('--for <places>', 'where it may be used: exec,http:HOST,browser:HOST', collect)
      .option('--host <name>', 'a host that it may be sent to; may be given several times', collect)
      .option('--json', 'one JSON object');

  withPermission(secrets.command('set').argument('<name>'))
    .description('store a secret; its value is read from the terminal or standard input')
    .option('--replace', 'replace the one of this name')
    .action((name: string, flags: SetFlags) =>
      act(async (at) => (await import('./secrets.js')).setSecret(name, flags, at)),
    );

  withVault(secrets.command('list').description('the secrets there are; never their values'))
    .option('--json', 'one JSON object')
    .action((flags: SecretFlags) => act(async (at) => (await import('./secrets.js')).listSecrets(flags, at)));

  withPermission(secrets.command('allow').argument('<name>'))
    .description('set where a secret may be used; without --for: nowhere')
    .action((name: string, flags: PermissionFlags) =>
      act(async (at) => (await import('./secrets.js')).allowSecret(name, flags, at)),
    );

  withVault(secrets.command('delete').argument('<name>').description('delete a secret for good'))
    .option('--json', 'one JSON object')
    .action((name: string, flags: SecretFlags) =>
      act(async (at) => (await import('./secrets.js')).deleteSecret(name, flags, at)),
    );

  withFolders(
    secrets.command('rotate').description('put the vault under a new master key; stop the server first'),
  )
    .option('--passphrase', 'under a new passphrase, read from the terminal or standard input')
    .option('--key-file', 'under a new random key in the key file')
    .option('--json', 'one JSON object')
    .action((flags: RotateFlags) => act(async (at) => (await import('./secrets.js')).rotateKey(flags, at)));
}

export function addWalletCommands(wallet: Command, act: Act): void {
  withVault(wallet.command('address').description('the address of your wallet'))
    .option('--json', 'one JSON object')
    .action((flags: WalletFlags) => act(async (at) => (await import('./wallet.js')).showAddress(flags, at)));

  withVault(wallet.command('import').description('pay from a wallet that you have already'))
    .option('--replace', 'forget the key of the wallet that is here')
    .option('--json', 'one JSON object')
    .action((flags: ImportFlags) => act(async (at) => (await import('./wallet.js')).importKey(flags, at)));
}

function withVault(command: Command): Command {
  return withServer(command).option(
    '--owner <name>',
    "whose: a caller as the audit names it; default: the server's own token. Without a running server only",
  );
}
