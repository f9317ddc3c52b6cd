import type { Storage } from '../../stores/storage.js';
import type { DatabaseOptions } from './database.js';
import { SqliteDatabase } from './database.js';
import { storageError } from './failure.js';
import { SqlitePaymentStore } from './payments.js';
import { SqliteExtractionStore } from './extraction.js';
import { SqliteGraphStore } from './graph.js';
import { SqliteMemoryStore } from './memory.js';
import { SqlitePushStore } from './push-store.js';
import { SqliteKnowledgeStore } from './knowledge.js';
import { SqliteLibraryStore } from './library.js';
import { RecentEvents } from './recent-events.js';
import { SqliteRetentionStore } from './retention.js';
import { TaskCounts } from './task-list.js';
import { SqliteTaskStore } from './task-store.js';
import { SqliteVaultStore } from './vault-store.js';

interface StorageOptions extends DatabaseOptions {
  /** The largest event of a task, in bytes. Default: 256 KiB. */
  readonly eventBytes?: number;
  /** How long the id of a message without a context is known, in milliseconds. Default: a day. */
  readonly messageIdMs?: number;
}

/**
 * Opens the database for this process alone, until `close` or the end of the process. Throws `LangoError` `storage` with
 * advice if the folder is missing or not writable, or if the file is damaged, belongs to another program, was made by a
 * newer version, or is in use.
 */
export function openSqliteStorage({ eventBytes, messageIdMs, ...options }: StorageOptions): Storage {
  const database = new SqliteDatabase(options);
  try {
    const pushes = new SqlitePushStore(database);
    const recent = new RecentEvents();
    const counts = new TaskCounts();
    const graph = new SqliteGraphStore(database);
    const library = new SqliteLibraryStore(database, graph);
    return {
      nodeId: database.nodeId,
      problem: () => database.problem,
      payments: new SqlitePaymentStore(database),
      graph,
      extraction: new SqliteExtractionStore(database, graph),
      vault: new SqliteVaultStore(database),
      memory: new SqliteMemoryStore(database),
      tasks: new SqliteTaskStore(database, { pushes, recent, counts, eventBytes, messageIdMs }),
      retention: new SqliteRetentionStore(database, { recent, counts }),
      pushes,
      knowledge: new SqliteKnowledgeStore(database, library),
      library,
      purge: () => purge(database),
      close: async () => database.close(),
    };
  } catch (error) {
    database.close();
    throw storageError(error);
  }
}

/** The number of index pages that one step merges. */
const MERGE_PAGES = 200;
const MERGE = "INSERT INTO passage_words (passage_words, rank) VALUES ('merge', ?)";
const CHANGES = 'SELECT total_changes()';
/** A merge that changes fewer rows than this had nothing left to do (https://sqlite.org/fts5.html#the_merge_command). */
const MIN_MERGE_CHANGES = 2;

/**
 * Removes what remains of deleted rows. The rows themselves were overwritten at once (`secure_delete`). Their terms remain
 * in parts of the word index that were not merged since, and their pages in the write-ahead log.
 */
async function purge(database: SqliteDatabase): Promise<void> {
  // The first step, with a negative number, starts a merge of all parts of the index. The others continue it.
  for (let pages = -MERGE_PAGES; await mergeSome(database, pages); pages = MERGE_PAGES);
  database.read(() => database.handle.pragma('wal_checkpoint(TRUNCATE)'));
}

/** False if there was nothing left to merge. */
async function mergeSome(database: SqliteDatabase, pages: number): Promise<boolean> {
  const { handle } = database;
  return database.write(() => {
    const before = handle.prepare<[], number>(CHANGES).pluck().get() ?? 0;
    handle.prepare(MERGE).run(pages);
    const after = handle.prepare<[], number>(CHANGES).pluck().get() ?? 0;
    return after - before >= MIN_MERGE_CHANGES;
  });
}
