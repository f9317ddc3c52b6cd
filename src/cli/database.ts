import { resolve } from 'node:path';
import { backUp, inspectServer, moveDatabase, restore as restoreDatabase, upgradeDatabase } from '../app.js';
import { LangoError } from '../core/errors.js';
import { silentLogger } from '../core/logger.js';
import { counted } from '../core/text.js';
import { loadConfigOf, type Call, type FolderFlags } from './connection.js';
import { usageError } from '../terminal/exit.js';
import type { Report } from '../terminal/terminal.js';

/** `lango backup FILE`: copies the database, also of a running server, and reads the whole copy. */
export async function backup(to: string, call: Call<FolderFlags>): Promise<Report> {
  const { file } = await databaseOf(call);
  const { tasks, events } = await backUp(file, resolve(to));
  const line = `${resolve(to)}: ${tasks} tasks with ${events} entries, verified`;
  return { json: { file: resolve(to), tasks, events }, lines: [line], notes: [NOT_COPIED] };
}

const NOT_COPIED =
  'The backup lacks these, so copy them too: vault.key (without it or the passphrase the secrets stay sealed), token, ' +
  'config.yaml, skills and the workspace.';

/** `lango restore FILE`: puts a backup in place of the database. */
export async function restore(from: string, call: Call<FolderFlags>): Promise<Report> {
  const { home, file } = await databaseOf(call);
  const { tasks, events, kept = null } = await restoreDatabase(home, { from: resolve(from), to: file });
  const notes =
    kept === null ? [] : [`The previous database is kept as ${kept}. Remove it when everything works.`];
  notes.push('Its secrets open with the vault.key or the passphrase of the server that the backup is from.');
  const line = `${file}: restored ${tasks} tasks with ${events} entries`;
  return { json: { file, tasks, events, kept }, lines: [line], notes };
}

async function databaseOf(call: Call<FolderFlags>) {
  const { config, secrets } = await loadConfigOf(call, 'serve');
  if (secrets.databaseUrl !== undefined) {
    const text = 'The commands backup and restore are for the embedded database.';
    const hint = 'This configuration names a PostgreSQL database: use pg_dump and pg_restore.';
    throw new LangoError('not-supported', text, { hint });
  }
  const { home } = config;
  const { file } = config.storage.sqlite;
  if (file !== ':memory:') return { home, file };
  const hint = 'Set storage.sqlite.file to a file.';
  throw new LangoError('invalid-input', 'The database of this configuration is in memory.', { hint });
}

type MigrateFlags = FolderFlags & { readonly from?: string; readonly schema?: boolean };

const FROM = /^sqlite:(.+)$/;

/** `lango migrate`: moves an embedded database into the PostgreSQL one of the configuration; `--schema` only makes its tables. */
export async function migrate({ flags, env, terminal }: Call<MigrateFlags>): Promise<Report> {
  const from = flags.from === undefined ? undefined : FROM.exec(flags.from)?.[1];
  if (flags.from !== undefined && from === undefined)
    throw usageError('--from names an embedded database: sqlite:FILE', 'See: lango migrate --help');
  if (flags.schema === true && from !== undefined)
    throw usageError('--schema moves nothing, so it goes without --from', 'See: lango migrate --help');
  const loaded = await loadConfigOf({ flags, env }, 'serve');
  if (flags.schema === true) {
    const sources = { ...loaded, logger: silentLogger };
    await upgradeDatabase(sources);
    const { text } = await inspectServer(sources);
    return { json: { database: text }, lines: [text] };
  }
  const file = resolve(from ?? loaded.config.storage.sqlite.file);
  terminal.progress.start(`reading ${file}`);
  try {
    const onTable = (name: string) => terminal.progress.label(`moving ${name.replace('_', ' ')}`);
    const rows = await moveDatabase({ ...loaded, logger: silentLogger }, { file, onTable });
    const { tasks = 0, events = 0, documents = 0, vault_entries: sealed = 0 } = rows;
    const moved = `${counted(tasks, 'task')}, ${events} events, ${counted(documents, 'document')}`;
    const line = `${file}: moved ${moved} and ${sealed} sealed values; all read again and found equal`;
    return { json: { from: file, rows }, lines: [line], notes: MOVED };
  } finally {
    terminal.progress.stop();
  }
}

const MOVED = [
  'The file is unchanged. Remove it when everything works: a server without storage.url would use it again.',
  'The secrets open with the same passphrase or vault.key as before.',
];
