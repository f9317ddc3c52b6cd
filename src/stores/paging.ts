import type { Page } from '../core/page.js';

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
