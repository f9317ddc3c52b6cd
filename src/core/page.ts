import type { Scope } from './task.js';

/** A page of a list, in the order of the store. */
export interface Page<Item> {
  /** May be fewer than asked for, even none, on any page. */
  readonly items: readonly Item[];
  /** The start of the next page; undefined on the last page. */
  readonly next: string | undefined;
}

/** The result of one read for a page. */
export interface Chunk {
  readonly items: readonly unknown[];
  /** The approximate size of the items, in bytes or characters. */
  readonly size: number;
  /** The start of the next read; undefined at the end. */
  readonly next: string | undefined;
}

/** A page ends with the chunk that reaches this size. */
const PAGE_SIZE = 500_000;

/** Reads chunks until the page is full, so that pages have a similar size whatever the size of the items. */
export async function pageBySize(
  after: string,
  read: (after: string) => Promise<Chunk>,
): Promise<Page<unknown>> {
  const items: unknown[] = [];
  let place: string | undefined = after;
  for (let size = 0; place !== undefined && size < PAGE_SIZE;) {
    const chunk: Chunk = await read(place);
    items.push(...chunk.items);
    size += chunk.size;
    place = chunk.next;
  }
  return { items, next: place };
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
