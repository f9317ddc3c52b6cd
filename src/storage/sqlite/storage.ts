import type { Storage } from '../../core/store.js';
import type { DatabaseOptions } from './database.js';
import { SqliteDatabase } from './database.js';
import { storageError } from './failure.js';
import { SqlitePaymentStore } from './payments.js';
import { SqliteExtractionStore } from './extraction.js';
import { SqliteGraphStore } from './graph.js';
import { SqliteMemoryStore } from './memory.js';
import { purge } from './purge.js';
import { SqlitePushStore } from './push-store.js';
import { SqliteKnowledgeStore } from './knowledge.js';
import { SqliteLibraryStore } from './library.js';
import { RecentEvents } from './recent-events.js';
import { SqliteRetentionStore } from './retention.js';
import { SqliteTaskStore } from './task-store.js';
import { SqliteVaultStore } from './vault-store.js';

interface StorageOptions extends DatabaseOptions {
  /** The largest entry of a task's journal. Default: 256 KiB. */
  readonly eventBytes?: number;
}

/**
 * Opens the database for this process alone; it stays the only one until `close`, or until it dies.
 * Throws `LangoError` `storage` with advice when the folder is missing or cannot be written, the file is
 * damaged or not ours, comes from a newer version, or is in use.
 */
export function openSqliteStorage({ eventBytes, ...options }: StorageOptions): Storage {
  const database = new SqliteDatabase(options);
  try {
    const pushes = new SqlitePushStore(database);
    const recent = new RecentEvents();
    const graph = new SqliteGraphStore(database);
    const library = new SqliteLibraryStore(database, graph);
    return {
      nodeId: database.nodeId,
      payments: new SqlitePaymentStore(database),
      graph,
      extraction: new SqliteExtractionStore(database, graph),
      vault: new SqliteVaultStore(database),
      memory: new SqliteMemoryStore(database),
      tasks: new SqliteTaskStore(database, { pushes, recent, eventBytes }),
      retention: new SqliteRetentionStore(database, recent),
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
