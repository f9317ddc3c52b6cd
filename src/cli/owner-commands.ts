import { Argument, type Command } from 'commander';
import { actionsOf, collect, withFolders, withJson, withServer, type Act } from './flags.js';

/** `lango secrets` */
export function addSecretCommands(secrets: Command, act: Act): void {
  const action = actionsOf(act, () => import('./secrets.js'));
  const withPermission = (command: Command): Command =>
    withVault(command)
      .option('--for <places>', 'where it may be used: exec,http:HOST,browser:HOST', collect)
      .option('--host <name>', 'a host that it may be sent to; may be given several times', collect);

  withPermission(secrets.command('set <name>'))
    .description('store a secret; its value is read from the terminal or standard input')
    .option('--replace', 'replace an existing secret of this name')
    .action(action('setSecret'));
  withVault(secrets.command('list'))
    .description('list the secrets, without their values')
    .action(action('listSecrets'));
  withPermission(secrets.command('allow <name>'))
    .description('set where a secret may be used; without --for: nowhere')
    .action(action('allowSecret'));
  withVault(secrets.command('delete <name>'))
    .description('delete a secret for good')
    .action(action('deleteSecret'));
  withFolders(withJson(secrets.command('rotate')))
    .description('encrypt the vault with a new master key; stop the server first')
    .option('--passphrase', 'use a new passphrase, read from the terminal or standard input')
    .option('--key-file', 'use a new random key in the key file')
    .action(action('rotateKey'));
}

/** `lango wallet` */
export function addWalletCommands(wallet: Command, act: Act): void {
  const action = actionsOf(act, () => import('./secrets.js'));
  withVault(wallet.command('address'))
    .description('show the address of your wallet')
    .action(action('showAddress'));
  withVault(wallet.command('import'))
    .description('import the private key of a wallet that you already have')
    .option('--replace', 'delete the key of the present wallet')
    .action(action('importKey'));
}

/** `lango data` */
export function addDataCommands(data: Command, act: Act): void {
  const action = actionsOf(act, () => import('./data.js'));
  const add = (name: string): Command =>
    withServer(data.command(name)).option('--json', 'print the counts as JSON');

  add('export')
    .description('write all your data as JSON')
    .option('--out <file>', 'write to this new file instead of standard output')
    .action(action('exportData'));
  add('forget')
    .description('delete one item for good; for documents use: lango ingest remove')
    .addArgument(
      new Argument('<kind>', 'the kind of data').choices([
        'context',
        'knowledge',
        'learning',
        'fact',
        'skill',
        'file',
      ]),
    )
    .argument(
      '<name>',
      'the id of a context, the name of an entry or skill, the path of a file, or the text of a fact',
    )
    .action(action('forgetData'));
  add('delete')
    .description('delete all your data for good')
    .option('--yes', 'required: confirms the deletion')
    .action(action('deleteData'));
}

/** `lango ingest` */
export function addIngestCommands(ingest: Command, act: Act): void {
  const action = actionsOf(act, () => import('./ingest.js'));
  const withCollection = (command: Command): Command =>
    withServer(withJson(command)).option(
      '--collection <name>',
      'the collection of documents; default: documents',
    );

  withCollection(ingest.argument('[path...]', 'files, folders, and patterns such as "docs/**/*.md"'))
    .description('add documents, so that agents find them; unchanged files are skipped')
    .option('--reembed', 'compute all vectors again, after a change of the embedding model')
    .action(action('ingest'));
  withCollection(ingest.command('list'))
    .description('list the documents; default: of all collections')
    .action(action('listDocuments'));
  withCollection(ingest.command('remove').argument('[path...]', 'files or folders that were added'))
    .description('remove documents')
    .option('--all', 'every document of the collection')
    .action(action('removeDocuments'));
}

function withVault(command: Command): Command {
  return withServer(withJson(command)).option(
    '--owner <name>',
    "without a running server: the owner, as the audit log writes it; default: the owner of the server's own token",
  );
}
