import type { LangoError } from '../core/errors.js';
import type { SqlDatabase } from '../core/sql.js';
import type { PushStore } from './pushes.js';
import type { SpendingStore } from './spending.js';
import type { RetentionStore, TaskStore, TaskUseStore } from './tasks.js';
import type { TraceStore } from './traces.js';

/** A database with the stores of the server. There is one implementation per kind of database. */
export interface Storage {
  /** The stable name of the node whose database this is. */
  readonly nodeId: string;
  /** The error of the last commit; undefined if it succeeded. While there is a problem, the store itself retries a write. */
  problem(): LangoError | undefined;
  /** For the stores of capabilities. */
  readonly database: SqlDatabase;
  readonly tasks: TaskStore;
  readonly retention: RetentionStore;
  readonly pushes: PushStore;
  readonly traces: TraceStore;
  readonly spending: SpendingStore;
  readonly taskUse: TaskUseStore;
  /** Finishes earlier calls and closes. Later calls of any store reject with `storage`. Never rejects. */
  close(): Promise<void>;
}
