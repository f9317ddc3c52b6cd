import type { Scope } from './task.js';

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

/** A page with the approximate size of its items, in bytes or characters. */
export interface SizedPage extends Page<unknown> {
  readonly size: number;
}

/** A page ends with the read that reaches this size. */
const PAGE_SIZE = 500_000;

/** Combines small pages into one of about `PAGE_SIZE`, so that pages have a similar size for items of any size. */
export async function pageBySize(
  after: string,
  read: (after: string) => Promise<SizedPage>,
): Promise<Page<unknown>> {
  const items: unknown[] = [];
  let next: string | undefined = after;
  for (let size = 0; next !== undefined && size < PAGE_SIZE;) {
    const part: SizedPage = await read(next);
    items.push(...part.items);
    size += part.size;
    next = part.next;
  }
  return { items, next };
}
