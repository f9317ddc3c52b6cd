import { ReleasingMap } from './releasing-map.js';

/** A cache whose values may have a certain size in all. What was kept first goes first. */
export class BoundedCache<Value> {
  readonly #entries = new ReleasingMap<string, readonly [Value, size: number]>();
  readonly #limit: number;
  #size = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  keep(key: string, value: Value, size: number): void {
    this.take(key);
    this.#entries.set(key, [value, size]);
    this.#size += size;
    for (const [oldest] of this.#entries) if (this.#size > this.#limit) this.take(oldest);
  }

  /** Removes the value, so that only one user has it. */
  take(key: string): Value | undefined {
    const [value, size = 0] = this.#entries.get(key) ?? [];
    this.#entries.delete(key);
    this.#size -= size;
    return value;
  }
}
