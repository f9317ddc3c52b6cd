import type { Scope } from '../core/task.js';

/** A page of a list, in the order of the store. */
export interface Page<Item> {
  /** May be fewer than asked for, even none, on any page. */
  readonly items: readonly Item[];
  /** The start of the next page; undefined on the last page. */
  readonly next: string | undefined;
}

/** One kind of data that owners keep, in the database or elsewhere. */
export interface OwnedKind {
  /** The name of the kind in `lango data`. */
  readonly kind: string;
  /** Lists the data in pages. Throws `invalid-input` for an `after` that was not a `next`. */
  list(scope: Scope, after: string): Promise<Page<unknown>>;
  /** Removes the items of a name and resolves with their number. */
  remove(scope: Scope, name: string): Promise<number>;
  /** Removes all items and resolves with their number. After a failure, a repeated call continues. */
  removeAll(scope: Scope): Promise<number>;
}
