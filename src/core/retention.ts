import type { Page } from './page.js';
import type { Scope, TaskRecord } from './task.js';

/** How tasks go when nobody needs them any more. The rules of `TaskStore` hold. */
export interface RetentionStore {
  /** The ids of tasks, of all owners, that ended at least `ageMs` ago by the store's clock; looks at `limit` tasks. */
  listEnded(ageMs: number, after: string, limit: number): Promise<Page<string>>;
  /**
   * All tasks of an owner, of whatever agent: each once, unless its state changes meanwhile. Throws `invalid-input` for
   * an `after` that was no `next`.
   */
  listOwned(scope: Scope, after: string, limit: number): Promise<Page<TaskRecord>>;
  /** Tasks of an owner in this context, of whatever agent. */
  listContext(scope: Scope, contextId: string, limit: number): Promise<readonly TaskRecord[]>;
  /**
   * Takes tasks away with all that belongs to them: events, idempotency rows, push configs. Passes over those that
   * have not ended, or whose parent is here and has not. From the first commit on nobody sees anything of them; the
   * rest goes in small transactions, and what a crash left of it goes with the next call. Resolves with the ids of
   * those that are gone.
   */
  remove(taskIds: readonly string[]): Promise<readonly string[]>;
}
