import type { Page } from './page.js';

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
