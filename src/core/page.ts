import { LangoError } from './errors.js';
import { mapMembers } from './json.js';
import type { Scope } from './task.js';

/** A page of a list, in the order of the store. */
export interface Page<Item> {
  /** May be fewer than asked for, even none, on any page. */
  readonly items: readonly Item[];
  /** The start of the next page; undefined on the last page. */
  readonly next: string | undefined;
}

export interface OwnedKind {
  /** Lists the data in pages. Throws `invalid-input` for an `after` that was not a `next`. */
  list(scope: Scope, after: string): Promise<Page<unknown>>;
  /** Removes the items of a name, and counts what was removed. Left out where no single item can be removed. */
  forget?(scope: Scope, name: string): Promise<Counts>;
}

/** The number of removed entries, by a word for them. */
export type Counts = Readonly<Record<string, number>>;

/** Data that a part of the server keeps for owners, in the database or elsewhere, besides secrets and records of money. */
export interface OwnedData {
  /** By the name of the kind in `lango data`. */
  readonly kinds: Readonly<Record<string, OwnedKind>>;
  /** Removes all data of an owner. After a failure, a repeated call continues. */
  removeAll(scope: Scope): Promise<Counts>;
  /** Removes what came from a conversation. */
  forgetContext?(scope: Scope, contextId: string): Promise<Counts>;
  /** Removes the remains of deleted data from the files. Takes seconds for much data, in steps. */
  purge?(): Promise<void>;
}

/** Owned data whose code is loaded at first use. `kinds` tells of each kind whether single items can be removed. */
export function lazyOwnedData(
  kinds: Readonly<Record<string, boolean>>,
  load: () => Promise<OwnedData>,
): OwnedData {
  const lazily = (isForgettable: boolean, name: string): OwnedKind => ({
    list: async (scope, after) => (await load()).kinds[name]!.list(scope, after),
    ...(isForgettable && {
      forget: async (scope: Scope, item: string) => (await load()).kinds[name]!.forget!(scope, item),
    }),
  });
  return {
    kinds: mapMembers(kinds, lazily),
    removeAll: async (scope) => (await load()).removeAll(scope),
    forgetContext: async (scope, contextId) => (await (await load()).forgetContext?.(scope, contextId)) ?? {},
    purge: async () => (await load()).purge?.(),
  };
}

/** A page with the approximate size of its items, in bytes or characters. */
export interface SizedPage<Item = unknown> extends Page<Item> {
  readonly size: number;
}

/** A page ends with the read that reaches this size. */
const PAGE_SIZE = 500_000;

/** Combines small pages into one of about `PAGE_SIZE`, so that pages have a similar size for items of any size. */
export async function pageBySize<Item>(
  after: string,
  read: (after: string) => Promise<SizedPage<Item>>,
): Promise<Page<Item>> {
  const items: Item[] = [];
  let next: string | undefined = after;
  for (let size = 0; next !== undefined && size < PAGE_SIZE;) {
    const part: SizedPage<Item> = await read(next);
    items.push(...part.items);
    size += part.size;
    next = part.next;
  }
  return { items, next };
}

/** The error for an `after` that was not the `next` of a page. */
export function invalidCursor(): LangoError {
  return new LangoError('invalid-input', '"after" is not the "next" of a page of this list.', {
    hint: 'Start again without "after".',
  });
}

/** Reads a list from its start, page by page. A list of tasks has `nextPageToken`, which is empty on the last page. */
export async function* pagesOf<
  One extends { readonly next?: string | undefined; readonly nextPageToken?: string | undefined },
>(read: (after: string | undefined) => Promise<One>): AsyncGenerator<One, void, undefined> {
  let after: string | undefined;
  do {
    const page = await read(after);
    yield page;
    after = page.next ?? (page.nextPageToken || undefined);
  } while (after !== undefined);
}
