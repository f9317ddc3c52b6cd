import type { Outcome, Statement } from '../../core/sql.js';
import type { PostgresDatabase } from './database.js';
import { isFaultOfDatabase } from './failure.js';

type Ask = (statement: Statement) => Promise<Outcome>;

/** A write that waits for the end of the turn. */
interface Waiting<Item, Result> {
  readonly key: string;
  readonly item: Item;
  readonly ask: Ask;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

interface QueuedWrites<Item, Result> {
  /** Writes with the same key are made in the order of the calls. */
  readonly keyOf: (item: Item) => string;
  readonly charactersOf: (item: Item) => number;
  /** Whether those of a statement that fails are made one after the other. Else none holds up others that waits for a lock. */
  readonly isOrdered: boolean;
  /** Makes the writes in one statement. Resolves with their results, in their order. */
  readonly write: (items: readonly Item[], ask: Ask) => Promise<readonly Result[]>;
}

/** The most writes of one statement, and the most characters before a further one begins. */
const WRITES_AT_ONCE = 64;
const CHARACTERS_AT_ONCE = 1024 * 1024;

/** Makes the writes of one turn of the event loop in one statement, those with the same key in the order of the calls. */
export class WriteQueue<Item, Result> {
  readonly #database: PostgresDatabase;
  readonly #writes: QueuedWrites<Item, Result>;
  #waiting: Waiting<Item, Result>[] = [];
  /** The keys with a write under way. */
  readonly #busy = new Set<string>();
  #isScheduled = false;

  constructor(database: PostgresDatabase, writes: QueuedWrites<Item, Result>) {
    this.#database = database;
    this.#writes = writes;
  }

  add(item: Item): Promise<Result> {
    const key = this.#writes.keyOf(item);
    return this.#database.during((ask) =>
      new Promise<Result>((resolve, reject) => {
        this.#waiting.push({ key, item, ask, resolve, reject });
        this.#schedule();
      }).finally(() => {
        this.#busy.delete(key);
        this.#schedule();
      }),
    );
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.length === 0) return;
    this.#isScheduled = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#isScheduled = false;
    const group: Waiting<Item, Result>[] = [];
    const later: Waiting<Item, Result>[] = [];
    const passed = new Set(this.#busy);
    let characters = 0;
    for (const one of this.#waiting) {
      const isFull = group.length === WRITES_AT_ONCE || characters > CHARACTERS_AT_ONCE;
      (isFull || passed.has(one.key) ? later : group).push(one);
      passed.add(one.key);
      characters += this.#writes.charactersOf(one.item);
    }
    this.#waiting = later;
    if (group.length === 0) return;
    group.forEach(({ key }) => this.#busy.add(key));
    void this.#write(group);
    if (later.some(({ key }) => !this.#busy.has(key))) this.#schedule();
  }

  /** Settles the writes of a group. Makes each alone when the statement fails. */
  async #write(group: readonly Waiting<Item, Result>[]): Promise<void> {
    // All processes lock rows in the order of the keys, so that none of them wait for each other.
    const ordered = group.toSorted((a, b) => (a.key < b.key ? -1 : 1));
    try {
      const items = ordered.map(({ item }) => item);
      const results = await this.#writes.write(items, group[0]!.ask);
      ordered.forEach(({ resolve }, index) => resolve(results[index]!));
    } catch (error) {
      if (group.length === 1 || isFaultOfDatabase(error)) group.forEach(({ reject }) => reject(error));
      else if (this.#writes.isOrdered) for (const one of group) await this.#write([one]);
      else await Promise.all(group.map((one) => this.#write([one])));
    }
  }
}
