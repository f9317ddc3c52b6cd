import type { Scope, TaskRecord } from './task.js';

/** Some of many, in an order of the store's own. */
export interface Page<Item> {
  /** May be fewer than asked for, or none, though more follow. */
  readonly items: readonly Item[];
  /** Where the next page begins; undefined when this is the last one. */
  readonly next: string | undefined;
}

/** What owners keep of one kind, wherever it lies. */
export interface OwnedKind {
  /** As `lango data` names it. */
  readonly kind: string;
  /** All of it, page by page. Throws `invalid-input` for an `after` that was no `next`. */
  list(scope: Scope, after: string): Promise<Page<unknown>>;
  /** Resolves with how many of this name are gone. */
  remove(scope: Scope, name: string): Promise<number>;
  /** Resolves with how many are gone; asked again after a failure, it goes on where it ended. */
  removeAll(scope: Scope): Promise<number>;
}

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
