/**
 * A map for values that come and go by the thousand, and hold much. When a `Map` of V8 outgrows its table, the old
 * table names the new one, and keeps the entries it had: once one of them is in the old generation, all that follow
 * live until the next full collection, with everything that stood in them. What is deleted here is let go of at once.
 */
export class ReleasingMap<Key, Value> {
  readonly #boxes = new Map<Key, { value: Value | undefined }>();

  get size(): number {
    return this.#boxes.size;
  }

  has(key: Key): boolean {
    return this.#boxes.has(key);
  }

  get(key: Key): Value | undefined {
    return this.#boxes.get(key)?.value;
  }

  /** Puts it at the end, as a `Map` does with a new key. */
  set(key: Key, value: Value): void {
    this.delete(key);
    this.#boxes.set(key, { value });
  }

  delete(key: Key): void {
    const box = this.#boxes.get(key);
    if (box === undefined) return;
    box.value = undefined;
    this.#boxes.delete(key);
  }

  /** In the order they were set. May be deleted from meanwhile. */
  *[Symbol.iterator](): IterableIterator<readonly [Key, Value]> {
    for (const [key, box] of this.#boxes) yield [key, box.value as Value];
  }
}
