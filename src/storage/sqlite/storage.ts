import type { Storage } from '../../stores/storage.js';
import type { DatabaseOptions } from './database.js';
import { SqliteDatabase } from './database.js';
import { storageError } from './failure.js';
import { SqlPaymentStore } from '../../capabilities/payments/sql-payment-store.js';
import { SqlExtractionStore } from '../../capabilities/knowledge/sql/extraction.js';
import { SqlGraphStore } from '../../capabilities/knowledge/sql/graph.js';
import { SqlMemoryStore } from '../../capabilities/memory/sql-memory-store.js';
import { purgePushes, releaseAllPushes, SqlPushStore } from '../push-store.js';
import { SqlKnowledgeStore } from '../../capabilities/knowledge/sql/knowledge.js';
import { SqlLibraryStore } from '../../capabilities/knowledge/sql/library.js';
import { RecentEvents } from '../recent-events.js';
import type { RemovedTask } from '../retention.js';
import { SqlRetentionStore } from '../retention.js';
import { run } from '../../stores/sql.js';
import { StatementRunner } from './statement-runner.js';
import { SqliteTaskStore } from './task-store.js';
import { TaskCounts } from '../task-list.js';
import { SqlSpendingStore } from '../spending-store.js';
import { SqlTraceStore } from '../trace-store.js';
import { SqlVaultStore } from '../../capabilities/secrets/vault/sql-vault-store.js';

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
    const runner = new StatementRunner(database);
    runner.run(releaseAllPushes());
    runner.run(purgePushes(database.now()));
    const pushes = new SqlPushStore(runner);
    const recent = new RecentEvents();
    const counts = new TaskCounts();
    const graph = new SqlGraphStore(runner);
    const library = new SqlLibraryStore(runner, graph);
    return {
      nodeId: database.nodeId,
      problem: () => database.problem,
      payments: new SqlPaymentStore(runner),
      graph,
      extraction: new SqlExtractionStore(runner, graph),
      vault: new SqlVaultStore(runner),
      memory: new SqlMemoryStore(runner),
      tasks: new SqliteTaskStore(database, { runner, pushes, recent, counts, eventBytes, messageIdMs }),
      retention: new SqlRetentionStore(runner, { recent, counts, forgetMessage }),
      pushes,
      spending: new SqlSpendingStore(runner),
      traces: new SqlTraceStore(runner),
      knowledge: new SqlKnowledgeStore(runner, library),
      library,
      purge: () => purge(database),
      close: async () => database.close(),
    };
  } catch (error) {
    database.close();
    throw storageError(error);
  }
}

const FORGET_MESSAGE = `DELETE FROM inbox
  WHERE tenant = ? AND owner = ? AND agent = ? AND context IN ('', ?) AND message_id = ? AND task = ?`;

function forgetMessage({ tenant, owner, agent, context, id }: RemovedTask, messageId: string) {
  return run(FORGET_MESSAGE, tenant, owner, agent, context, messageId, id);
}

/** The number of index pages that one step merges. */
const MERGE_PAGES = 200;
const MERGE = "INSERT INTO passage_words (passage_words, rank) VALUES ('merge', ?)";
const CHANGES = 'SELECT total_changes()';
/** A merge that changes fewer rows than this had nothing left to do (https://sqlite.org/fts5.html#the_merge_command). */
const MIN_MERGE_CHANGES = 2;

/**
 * Removes the remains of deleted rows. The rows themselves were overwritten at once (`secure_delete`), but their terms are
 * still in parts of the word index that were not merged since, and their pages in the write-ahead log.
 */
async function purge(database: SqliteDatabase): Promise<void> {
  // The first step, with a negative number, starts a merge of all parts of the index. The others continue it.
  for (let pages = -MERGE_PAGES; await mergeSome(database, pages); pages = MERGE_PAGES);
  database.read(() => database.handle.pragma('wal_checkpoint(TRUNCATE)'));
}

/** Merges some pages. Resolves with false when there was nothing left to merge. */
async function mergeSome(database: SqliteDatabase, pages: number): Promise<boolean> {
  const { handle } = database;
  return database.write(() => {
    const before = handle.prepare<[], number>(CHANGES).pluck().get() ?? 0;
    handle.prepare(MERGE).run(pages);
    const after = handle.prepare<[], number>(CHANGES).pluck().get() ?? 0;
    return after - before >= MIN_MERGE_CHANGES;
  });
}
