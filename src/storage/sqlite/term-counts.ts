import { written } from './index-terms.js';
import type { Prepared } from './prepared.js';
import type { Shelf } from './shelves.js';

/** Counting takes a millisecond for so many times ten: common words are asked for again and again. */
const REMEMBERED_FROM = 1_000;
const MOST_REMEMBERED = 2_000;
/** By what share a shelf may have grown or shrunk since. */
const DRIFT = 0.1;

const COUNT = 'SELECT doc FROM passage_terms WHERE term = ?';

interface Remembered {
  readonly count: number;
  /** Of the shelf, at the time. */
  readonly passages: number;
}

/** How many passages of a shelf have a term: exactly for rare ones, as it was a while ago for common ones. */
export class TermCounts {
  readonly #prepared: Prepared;
  /** By the written term, the one counted last at the end. */
  readonly #known = new Map<string, Remembered>();

  constructor(prepared: Prepared) {
    this.#prepared = prepared;
  }

  count({ id, passages }: Shelf, term: string): number {
    const name = written.word(id, term);
    const known = this.#known.get(name);
    if (known && Math.abs(known.passages - passages) <= DRIFT * known.passages) return known.count;
    const count = this.#prepared.first<{ readonly doc: number }>(COUNT, name)?.doc ?? 0;
    this.#known.delete(name);
    if (count >= REMEMBERED_FROM) this.#known.set(name, { count, passages });
    if (this.#known.size > MOST_REMEMBERED) this.#known.delete(this.#known.keys().next().value!);
    return count;
  }
}
