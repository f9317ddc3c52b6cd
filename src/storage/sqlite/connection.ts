import { closeSync, existsSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { LangoError } from '../../core/errors.js';
import { isAtLeast } from '../../core/text.js';
import { newId } from '../../core/ids.js';
import type { Logger } from '../../core/logger.js';
import { guardSteps, stepsAfter, type CapabilityTables } from '../capability-tables.js';
import { inboxKey } from '../task-changes.js';
import { CommitMark } from './commit-mark.js';
import { DatabaseFiles, realFile } from './database-files.js';
import { assertNotGone, assertWhole, countCommits, noteMark, type Opening } from './damage.js';
import { inUse, primaryCode, storageError } from './failure.js';
import type { CommitHooks } from './group-commit.js';
import { CAPABILITIES_SINCE, FIRST_VERSION, MIGRATIONS } from './migrations.js';
import { APPLICATION_ID, SCHEMA } from './schema.js';

export interface ConnectionOptions extends Opening {
  /** `normal`: commits survive a killed process; `full`: a loss of power too, at one disk flush per group of commits. */
  readonly synchronous: 'normal' | 'full';
  /** The tables of capabilities, which are made or brought up to date. Default: none; those that are there stay. */
  readonly tables?: readonly CapabilityTables[];
  /** The store's clock, in milliseconds since the epoch. Default: the machine's. */
  readonly now?: () => number;
}

interface Connection {
  readonly database: Database.Database;
  readonly nodeId: string;
  /** The checks and the mark around each commit; undefined in memory. */
  readonly hooks: CommitHooks | undefined;
  /** Checkpoints the write-ahead log into the database file, and releases the lock of this process. */
  readonly close: () => void;
}

/** Older versions could reset the WAL while it was being read (https://sqlite.org/wal.html#walresetbug). */
const OLDEST_SQLITE = '3.51.3';

/** The time that a statement of the start waits for another program's lock, in milliseconds. It blocks the event loop. */
const START_TIMEOUT_MS = 2_000;
/** The time that later statements wait for it. Writes are tried again after that: see group-commit.ts. */
const BUSY_TIMEOUT_MS = 5;
const CACHE_KIB = 8_192;
/** The size that the write-ahead log is truncated to after a burst, in bytes. */
const WAL_LIMIT_BYTES = 64 * 1024 * 1024;

/** Opens the database for this process alone and upgrades its schema. After `storage` with advice, nothing is left open. */
export function openConnection(options: ConnectionOptions): Connection {
  const opened: { close(): unknown }[] = [];
  const close = () => opened.toReversed().forEach((one) => one.close());
  const { file, tables = [] } = options;
  const isFile = file !== ':memory:';
  try {
    if (isFile) {
      opened.push(lockFile(options.file));
      assertNotGone(options);
      createPrivateFile(options.file);
    }
    const database = new Database(options.file, { timeout: START_TIMEOUT_MS });
    opened.push(database);
    assertSqliteVersion(database.prepare<[], string>('SELECT sqlite_version()').pluck().get() ?? '');
    const version = requireOwnVersion(database);
    // Before anything is written: the server that refuses its database leaves it to the newer version.
    if (version >= CAPABILITIES_SINCE) for (const one of tables) missingSteps(database, one);
    configure(database, options.synchronous);
    migrate(database, version, options.logger);
    for (const one of tables) migrateCapability(database, one);
    if (isFile) assertWhole(database, options);
    const nodeId = nodeIdOf(database);
    database.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`);
    return { database, nodeId, hooks: isFile ? watch(database, options, opened) : undefined, close };
  } catch (error) {
    close();
    throw withFile(storageError(error), options.file);
  }
}

/** Makes each commit check the files of the database and write its number beside them. */
function watch(
  database: Database.Database,
  { file, synchronous }: ConnectionOptions,
  opened: { close(): unknown }[],
): CommitHooks {
  const files = new DatabaseFiles(file);
  const mark = new CommitMark(realFile(file), { commits: countCommits(database), synchronous });
  opened.push(mark);
  noteMark(database);
  return { before: () => files.assertInPlace(), after: (commits) => mark.set(commits) };
}

/** Throws `LangoError` `storage` if the bundled SQLite has the WAL reset bug. */
export function assertSqliteVersion(version: string): void {
  if (isAtLeast(version, OLDEST_SQLITE)) return;
  throw new LangoError('storage', `SQLite ${version} is too old: ${OLDEST_SQLITE} is needed.`, {
    hint: 'Install the version of better-sqlite3 that package.json names.',
  });
}

/** Locks FILE.lock until the process ends. It is a separate file, so that backups can read the database meanwhile. */
export function lockFile(file: string): Database.Database {
  if (!existsSync(dirname(file))) {
    const hint = 'Create the data folder, or choose another one.';
    throw new LangoError('storage', 'The folder of the database does not exist.', { hint });
  }
  const path = `${realFile(file)}.lock`;
  createPrivateFile(path);
  const lock = new Database(path, { timeout: 0 });
  try {
    lock.exec('BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    lock.close();
    throw primaryCode(error) === 'SQLITE_BUSY' ? inUse() : error;
  }
}

/** Creates the file for this user only: it holds conversations. The write-ahead log gets the same permissions. */
function createPrivateFile(file: string): void {
  if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600));
}

function configure(database: Database.Database, synchronous: ConnectionOptions['synchronous']): void {
  database.pragma('journal_mode = WAL');
  database.pragma(`synchronous = ${synchronous.toUpperCase()}`);
  database.pragma(`cache_size = -${CACHE_KIB}`);
  // Deleted rows are overwritten, not only marked as free.
  database.pragma('secure_delete = ON');
  // Automatic checkpoints are off, as checkpoints.ts makes them.
  database.pragma('wal_autocheckpoint = 0');
  database.pragma(`journal_size_limit = ${WAL_LIMIT_BYTES}`);
}

/** The schema version that this program works with. */
const VERSION = FIRST_VERSION + MIGRATIONS.length;

/** The marks of this version in the header of its databases. */
export const DATABASE_MARKS = { applicationId: APPLICATION_ID, schema: VERSION };

function migrate(database: Database.Database, version: number, logger: Logger): void {
  if (version === VERSION) return;
  const steps = version === 0 ? [SCHEMA, ...MIGRATIONS] : MIGRATIONS.slice(version - FIRST_VERSION);
  // The function of version 23.
  database.function('inbox_key', { varargs: true }, (...names: unknown[]) => {
    const [tenant, owner, agent, context, messageId] = names as [string, string, string, string, string];
    return Buffer.from(inboxKey({ tenant, owner, agent, context, messageId }), 'hex');
  });
  const apply = database.transaction(() => {
    for (const sql of steps) database.exec(sql);
    database.pragma(`application_id = ${APPLICATION_ID}`);
    database.pragma(`user_version = ${VERSION}`);
  });
  // For version 28, which edits the text of a table.
  database.unsafeMode(true);
  apply.immediate();
  database.unsafeMode(false);
  if (version > 0) logger.info('database schema upgraded', { from: version, to: VERSION });
}

const OBJECTS =
  "SELECT name, type || ' ' || coalesce(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";

/** The next versions of a capability's tables. Throws `storage` when they were made by a newer version of it. */
function missingSteps(database: Database.Database, { name, sqlite }: CapabilityTables): readonly string[] {
  const find = database.prepare<[string], number>('SELECT version FROM capabilities WHERE name = ?').pluck();
  return stepsAfter(name, find.get(name) ?? 0, sqlite);
}

/** Brings the tables of a capability up to date in one transaction. */
function migrateCapability(database: Database.Database, tables: CapabilityTables): void {
  const { name, sqlite, isForeign } = tables;
  const steps = missingSteps(database, tables);
  if (steps.length === 0) return;
  const objects = () => new Map(database.prepare<[], [string, string]>(OBJECTS).raw().all());
  const apply = database.transaction(() => {
    const assertOwn = isForeign && guardSteps(name, steps, objects());
    for (const sql of steps) database.exec(sql);
    if (assertOwn) assertOwn(objects());
    const set = 'INSERT OR REPLACE INTO capabilities (name, version) VALUES (?, ?)';
    database.prepare(set).run(name, sqlite.length);
  });
  apply.immediate();
}

/** The schema version of the file; 0 for an empty file. Throws if this program cannot use it. */
export function requireOwnVersion(database: Database.Database): number {
  const version = numberPragma(database, 'user_version');
  const isEmpty = database.prepare('SELECT 1 FROM sqlite_schema').get() === undefined;
  if (isEmpty) return 0;
  const refuse = (text: string, hint: string) => new LangoError('storage', text, { hint });
  if (numberPragma(database, 'application_id') !== APPLICATION_ID)
    throw refuse('The file is a database of another program.', 'Choose another data folder.');
  if (version < FIRST_VERSION) {
    const text = `The database was made by a build before the first release of Lango: schema ${version} < ${FIRST_VERSION}.`;
    throw refuse(text, 'Its data cannot be migrated. Move the file away, or choose another data folder.');
  }
  if (version > VERSION) {
    const text = `The database was made by a newer version of Lango: schema ${version} > ${VERSION}.`;
    throw refuse(text, 'Start that version or a later one, or choose another data folder.');
  }
  return version;
}

function numberPragma(database: Database.Database, name: string): number {
  return Number(database.pragma(name, { simple: true }));
}

function nodeIdOf(database: Database.Database): string {
  database.prepare("INSERT OR IGNORE INTO meta (key, value) VALUES ('node', ?)").run(newId());
  return database.prepare<[], string>("SELECT value FROM meta WHERE key = 'node'").pluck().get() ?? '';
}

function withFile(error: LangoError, file: string): LangoError {
  return new LangoError('storage', error.message, {
    hint: `${error.hint ?? ''} The database is ${file}.`.trimStart(),
    cause: error.cause ?? error,
  });
}
