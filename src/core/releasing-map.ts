/**
 * Holds a value until it is emptied. Not an object literal: V8 allocates the literals of a place among its old objects once
 * it has seen some of them live on, and with them the values, which then keep all that they refer to until the next full
 * garbage collection.
 */
export class Box<Value> {
  value: Value | undefined;

  constructor(value: Value) {
    this.value = value;
  }
}

/** The empty boxes that a list keeps besides as many as it has full ones. */
const SPARE_BOXES = 64;

/** Boxes in the order they were added, for thousands that come and go: a `Set` makes its table anew again and again. */
export class BoxList<Held extends Box<unknown>> {
  #boxes: Held[] = [];
  #size = 0;

  /** The number of boxes that are not empty. */
  get size(): number {
    return this.#size;
  }

  /** Adds a full box. */
  add(box: Held): void {
    if (this.#boxes.length > 2 * this.#size + SPARE_BOXES) this.#boxes = [...this];
    this.#boxes.push(box);
    this.#size += 1;
  }

  /** Empties a box of the list, and returns what it held; undefined for an empty one. */
  empty(box: Held): Held['value'] {
    const { value } = box;
    if (value !== undefined) this.#size -= 1;
    box.value = undefined;
    return value;
  }

  *[Symbol.iterator](): IterableIterator<Held> {
    for (const box of this.#boxes) if (box.value !== undefined) yield box;
  }
}

/**
 * A map that releases deleted values at once, for thousands of large values that come and go. When V8's `Map` outgrows its
 * table, the old table keeps its entries and refers to the new one; once it is in the old generation, deleted values stay
 * in memory until the next full garbage collection.
 */
export class ReleasingMap<Key, Value> {
  readonly #boxes = new Map<Key, Box<Value>>();

  get(key: Key): Value | undefined {
    return this.#boxes.get(key)?.value;
  }

  /** Puts the key at the end, as a `Map` does with a new key. */
  set(key: Key, value: Value): void {
    this.delete(key);
    this.#boxes.set(key, new Box(value));
  }

  delete(key: Key): void {
    const box = this.#boxes.get(key);
    if (box === undefined) return;
    box.value = undefined;
    this.#boxes.delete(key);
  }

  /** Yields the entries in the order they were set. Entries may be deleted meanwhile. */
  *[Symbol.iterator](): IterableIterator<readonly [Key, Value]> {
    for (const [key, box] of this.#boxes) yield [key, box.value as Value];
  }
}
