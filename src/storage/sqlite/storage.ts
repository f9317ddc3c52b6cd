import type { Storage } from '../../stores/storage.js';
import type { ConnectionOptions } from './connection.js';
import { SqliteDatabase } from './database.js';
import { storageError } from './failure.js';
import { SqliteInbox } from './inbox.js';
import { createPushStore, purgePushes, releaseAllPushes } from '../push-store.js';
import { RecentEvents } from '../recent-events.js';
import { createRetentionStore } from '../retention.js';
import { SqliteTaskStore } from './task-store.js';
import type { TaskLimits } from '../task-store.js';
import { TaskCounts } from '../task-list.js';
import { createSpendingStore } from '../spending-store.js';
import { createTaskUseStore } from '../task-use-store.js';
import { createTraceStore } from '../trace-store.js';

/**
 * Opens the database for this process alone, until `close` or the end of the process. Throws `LangoError` `storage` with
 * advice if the folder is missing or not writable, or if the file is damaged, belongs to another program, was made by a
 * newer version, or is in use.
 */
export function openSqliteStorage(limited: ConnectionOptions & TaskLimits): Storage {
  const { eventBytes, messageIdMs, ...options } = limited;
  const database = new SqliteDatabase(options);
  try {
    database.run(releaseAllPushes());
    database.run(purgePushes(database.clock()));
    const recent = new RecentEvents();
    const counts = new TaskCounts();
    const inbox = new SqliteInbox(database, { knownMs: messageIdMs });
    return {
      nodeId: database.nodeId,
      problem: () => database.problem,
      database,
      tasks: new SqliteTaskStore(database, { inbox, recent, counts, eventBytes }),
      retention: createRetentionStore(database, {
        ...{ recent, counts },
        forgetMessage: (key, task) => inbox.forget(key, task.key),
      }),
      pushes: createPushStore(database),
      spending: createSpendingStore(database),
      taskUse: createTaskUseStore(database),
      traces: createTraceStore(database),
      close: async () => database.close(),
    };
  } catch (error) {
    database.close();
    throw storageError(error);
  }
}
