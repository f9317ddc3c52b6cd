import { ReleasingMap } from './releasing-map.js';

interface BoundedCacheOptions<Key, Value> {
  /** Keeps the entry that was set last even if it is larger than the limit. Default: it is dropped at once. */
  readonly keepsNewest?: boolean;
  /** Is called with each entry that was dropped for newer ones, after it has left the cache. */
  readonly onDropped?: (key: Key, value: Value) => void;
}

/** A map whose entries together have at most the size `limit`. Drops those first that were set longest ago. */
export class BoundedCache<Key, Value> {
  readonly #entries = new ReleasingMap<Key, readonly [Value, size: number]>();
  readonly #limit: number;
  readonly #options: BoundedCacheOptions<Key, Value>;
  #size = 0;

  constructor(limit: number, options: BoundedCacheOptions<Key, Value> = {}) {
    this.#limit = limit;
    this.#options = options;
  }

  /** The sizes of all entries together. */
  get size(): number {
    return this.#size;
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key)?.[0];
  }

  /** Sets an entry, which becomes the newest one, and drops others where the limit demands it. */
  set(key: Key, value: Value, size = 1): void {
    this.take(key);
    this.#entries.set(key, [value, size]);
    this.#size += size;
    for (const [oldest, [dropped]] of this.#entries) {
      if (this.#size <= this.#limit || (oldest === key && this.#options.keepsNewest)) return;
      this.take(oldest);
      this.#options.onDropped?.(oldest, dropped);
    }
  }

  /** Removes the entry, so that only one user has its value. */
  take(key: Key): Value | undefined {
    const [value, size = 0] = this.#entries.get(key) ?? [];
    this.#entries.delete(key);
    this.#size -= size;
    return value;
  }

  /** Yields the entries, the one that was set longest ago first. Entries may be removed meanwhile. */
  *[Symbol.iterator](): IterableIterator<readonly [Key, Value]> {
    for (const [key, [value]] of this.#entries) yield [key, value];
  }
}

/** Returns a function that makes a value of a list, again only when the members of the list are not the same ones. */
export function oncePerList<Member, Value>(make: (list: readonly Member[]) => Value) {
  let known: { readonly list: readonly Member[]; readonly value: Value } | undefined;
  return (list: readonly Member[]): Value => {
    const isKnown =
      known?.list.length === list.length && known.list.every((one, index) => one === list[index]);
    if (!isKnown) known = { list: [...list], value: make(list) };
    return known!.value;
  };
}
