import { runLater, type Outcome, type Query, type Statement } from '../../core/sql.js';
import type { PostgresDatabase } from './database.js';
import { isFaultOfDatabase } from './failure.js';

type Ask = (statement: Statement) => Promise<Outcome>;

/** An item that waits for the end of the turn. */
interface Waiting<Item, Result> {
  readonly key: string;
  readonly item: Item;
  readonly ask: Ask;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

export interface QueuedStatements<Item, Result> {
  /** Items with the same key are run in the order of the calls. */
  readonly keyOf: (item: Item) => string;
  readonly charactersOf: (item: Item) => number;
  /** Whether those of a statement that fails are run one after the other. Else none holds up others that waits for a lock. */
  readonly isOrdered: boolean;
  /** Runs the items in one statement. Returns their results, in their order. */
  readonly run: (items: readonly Item[]) => Query<readonly Result[]>;
}

/** The most items of one statement, and the most characters before a further one begins. */
const ITEMS_AT_ONCE = 64;
const CHARACTERS_AT_ONCE = 1024 * 1024;

/** Runs the items of one turn of the event loop in one statement, those with the same key in the order of the calls. */
export class StatementQueue<Item, Result> {
  readonly #database: PostgresDatabase;
  readonly #statements: QueuedStatements<Item, Result>;
  #waiting: Waiting<Item, Result>[] = [];
  /** The keys with an item under way. */
  readonly #busy = new Set<string>();
  #isScheduled = false;

  constructor(database: PostgresDatabase, statements: QueuedStatements<Item, Result>) {
    this.#database = database;
    this.#statements = statements;
  }

  add(item: Item): Promise<Result> {
    const key = this.#statements.keyOf(item);
    const wait = (ask: Ask) =>
      new Promise<Result>((resolve, reject) => {
        this.#waiting.push({ key, item, ask, resolve, reject });
        this.#schedule();
      });
    return this.#database.during(wait);
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
      const isFull = group.length === ITEMS_AT_ONCE || characters > CHARACTERS_AT_ONCE;
      (isFull || passed.has(one.key) ? later : group).push(one);
      passed.add(one.key);
      characters += this.#statements.charactersOf(one.item);
    }
    this.#waiting = later;
    if (group.length === 0) return;
    group.forEach(({ key }) => this.#busy.add(key));
    void this.#run(group);
    if (later.some(({ key }) => !this.#busy.has(key))) this.#schedule();
  }

  /** Settles the items of a group. Runs each alone when the statement fails. */
  async #run(group: readonly Waiting<Item, Result>[]): Promise<void> {
    // All processes lock rows in the order of the keys, so that none of them wait for each other.
    const ordered = group.toSorted((a, b) => (a.key < b.key ? -1 : 1));
    try {
      const work = this.#statements.run(ordered.map(({ item }) => item));
      const results = await runLater(work, group[0]!.ask);
      ordered.forEach(({ resolve }, index) => resolve(results[index]!));
    } catch (error) {
      if (group.length > 1 && !isFaultOfDatabase(error)) {
        if (!this.#statements.isOrdered) await Promise.all(group.map((one) => this.#run([one])));
        else for (const one of group) await this.#run([one]);
        return;
      }
      for (const { reject } of group) reject(error);
    }
    for (const { key } of group) this.#busy.delete(key);
    this.#schedule();
  }
}
