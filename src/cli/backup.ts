import { resolve } from 'node:path';
import { backUp, restore as restoreDatabase } from '../app.js';
import { LangoError } from '../core/errors.js';
import { loadConfigOf, type Call, type FolderFlags } from './connection.js';
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
