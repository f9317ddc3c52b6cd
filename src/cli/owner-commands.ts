import type { Command } from 'commander';
import { Argument } from 'commander';
import type { DataFlags, DeleteFlags, ExportFlags, ForgetKind } from './data.js';
import { collect, withFolders, withServer } from './flags.js';
import type { IngestFlags, RemoveFlags } from './ingest.js';
import type { PermissionFlags, RotateFlags, SecretFlags, SetFlags } from './secrets.js';
import type { Act } from './terminal.js';
import type { ImportFlags, WalletFlags } from './wallet.js';

/** `lango secrets` */
export function addSecretCommands(secrets: Command, act: Act): void {
  const withPermission = (command: Command): Command =>
    withVault(command)
      .option('--for <places>', 'where it may be used: exec,http:HOST,browser:HOST', collect)
      .option('--host <name>', 'a host that it may be sent to; may be given several times', collect)
      .option('--json', 'one JSON object');

  withPermission(secrets.command('set').argument('<name>'))
    .description('store a secret; its value is read from the terminal or standard input')
    .option('--replace', 'replace an existing secret of this name')
    .action((name: string, flags: SetFlags) =>
      act(async (at) => (await import('./secrets.js')).setSecret(name, flags, at)),
    );

  withVault(secrets.command('list').description('list the secrets, without their values'))
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
    secrets.command('rotate').description('encrypt the vault with a new master key; stop the server first'),
  )
    .option('--passphrase', 'use a new passphrase, read from the terminal or standard input')
    .option('--key-file', 'use a new random key in the key file')
    .option('--json', 'one JSON object')
    .action((flags: RotateFlags) => act(async (at) => (await import('./secrets.js')).rotateKey(flags, at)));
}

/** `lango wallet` */
export function addWalletCommands(wallet: Command, act: Act): void {
  withVault(wallet.command('address').description('show the address of your wallet'))
    .option('--json', 'one JSON object')
    .action((flags: WalletFlags) => act(async (at) => (await import('./wallet.js')).showAddress(flags, at)));

  withVault(wallet.command('import').description('import the private key of a wallet that you already have'))
    .option('--replace', 'delete the key of the present wallet')
    .option('--json', 'one JSON object')
    .action((flags: ImportFlags) => act(async (at) => (await import('./wallet.js')).importKey(flags, at)));
}

/** `lango data` */
export function addDataCommands(data: Command, act: Act): void {
  withServer(data.command('export').description('write all your data as JSON'))
    .option('--out <file>', 'write to this new file instead of standard output')
    .option('--json', 'print the counts as JSON')
    .action((flags: ExportFlags) => act(async (at) => (await import('./data.js')).exportData(flags, at)));

  const kinds = ['context', 'knowledge', 'learning', 'fact', 'skill'];
  withServer(data.command('forget').addArgument(new Argument('<kind>', 'the kind of data').choices(kinds)))
    .argument('<name>', 'the id of a context, the name of an entry or skill, or the text of a fact')
    .description('delete one item for good; for documents use: lango ingest remove')
    .option('--json', 'print the counts as JSON')
    .action((kind: ForgetKind, name: string, flags: DataFlags) =>
      act(async (at) => (await import('./data.js')).forgetData({ kind, name }, flags, at)),
    );

  withServer(data.command('delete').description('delete all your data for good'))
    .option('--yes', 'required: confirms the deletion')
    .option('--json', 'print the counts as JSON')
    .action((flags: DeleteFlags) => act(async (at) => (await import('./data.js')).deleteData(flags, at)));
}

/** `lango ingest` */
export function addIngestCommands(ingest: Command, act: Act): void {
  const withCollection = (command: Command): Command =>
    withServer(command)
      .option('--collection <name>', 'the collection of documents; default: documents')
      .option('--json', 'one JSON object');

  withCollection(ingest.argument('[path...]', 'files, folders, and patterns such as "docs/**/*.md"'))
    .description('add documents, so that agents find them; unchanged files are skipped')
    .option('--reembed', 'compute all vectors again, after a change of the embedding model')
    .action((paths: string[], flags: IngestFlags) =>
      act(async (at) => (await import('./ingest.js')).ingest(paths, flags, at)),
    );

  // `ingest` has the same options and commander may give them to either command, so both are read.
  withCollection(
    ingest.command('list').description('list the documents; default: of all collections'),
  ).action((_flags: IngestFlags, command: Command) =>
    act(async (at) =>
      (await import('./ingest.js')).listDocuments(command.optsWithGlobals<IngestFlags>(), at),
    ),
  );

  withCollection(ingest.command('remove').argument('[path...]', 'files or folders that were added'))
    .description('remove documents')
    .option('--all', 'every document of the collection')
    .action((paths: string[], _flags: RemoveFlags, command: Command) =>
      act(async (at) =>
        (await import('./ingest.js')).removeDocuments(paths, command.optsWithGlobals<RemoveFlags>(), at),
      ),
    );
}

function withVault(command: Command): Command {
  return withServer(command).option(
    '--owner <name>',
    "without a running server: the owner, as the audit log writes it; default: the owner of the server's own token",
  );
}
