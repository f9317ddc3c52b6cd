import { resolve } from 'node:path';
import { inspectServer, moveDatabase, upgradeDatabase } from '../app.js';
import { silentLogger } from '../core/logger.js';
import { counted } from '../core/text.js';
import { loadConfigOf, type Call, type FolderFlags } from './connection.js';
import { usageError } from '../terminal/exit.js';
import type { Report } from '../terminal/terminal.js';

interface MigrateFlags extends FolderFlags {
  readonly from?: string;
  readonly schema?: boolean;
}

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
    return { json: { from: file, rows }, lines: [line], notes: NOTES };
  } finally {
    terminal.progress.stop();
  }
}

const NOTES = [
  'The file is unchanged. Remove it when everything works: a server without storage.url would use it again.',
  'The secrets open with the same passphrase or vault.key as before.',
];
