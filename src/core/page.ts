import type { Scope } from './task.js';

/** Some of many, in an order of the store's own. */
export interface Page<Item> {
  /** May be fewer than asked for, or none, though more follow. */
  readonly items: readonly Item[];
  /** Where the next page begins; undefined when this is the last one. */
  readonly next: string | undefined;
}

/** What one look adds to a page. */
export interface Chunk {
  readonly items: readonly unknown[];
  /** About how many bytes or characters they make. */
  readonly size: number;
  /** Where the next look begins; undefined when there is nothing more. */
  readonly next: string | undefined;
}

/** A page ends with the chunk that makes it so long. */
const PAGE_SIZE = 500_000;

/** Looks again and again, so that a page is neither long nor short, however large what it holds is. */
export async function pageBySize(
  after: string,
  look: (after: string) => Promise<Chunk>,
): Promise<Page<unknown>> {
  const items: unknown[] = [];
  let place: string | undefined = after;
  for (let size = 0; place !== undefined && size < PAGE_SIZE;) {
    const chunk: Chunk = await look(place);
    items.push(...chunk.items);
    size += chunk.size;
    place = chunk.next;
  }
  return { items, next: place };
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
