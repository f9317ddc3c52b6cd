import type { Outcome, Statement } from '../../core/sql.js';
import type { Fence } from '../../stores/tasks.js';
import type { Chain } from '../deflated.js';
import type { TaskRow } from '../rows.js';
import { fenced, type EncodedBatch } from '../task-changes.js';
import type { PostgresDatabase } from './database.js';
import { isFaultOfDatabase } from './failure.js';
import { APPEND, appendRows, appendValues, type Append } from './task-statements.js';

/** The task after an append, with times by the store's clock. */
export interface Appended extends Pick<TaskRow, 'head'> {
  readonly now: number;
}

interface Waiting extends Append {
  readonly ask: (statement: Statement) => Promise<Outcome>;
  readonly resolve: (appended: Appended) => void;
  readonly reject: (error: unknown) => void;
}

/** The most appends of one statement, and the most characters before a further one begins. */
const APPENDS_AT_ONCE = 64;
const CHARACTERS_AT_ONCE = 1024 * 1024;

/** Writes the appends of one turn of the event loop in one statement, those of one task in the order of the calls. */
export class AppendQueue {
  readonly #database: PostgresDatabase;
  #waiting: Waiting[] = [];
  /** The tasks with an append under way. */
  readonly #busy = new Set<string>();
  #isScheduled = false;

  constructor(database: PostgresDatabase) {
    this.#database = database;
  }

  /** Rejects with `fenced` for a task that has another epoch or has ended, whatever the others of its statement do. */
  append(fence: Fence, batch: EncodedBatch): Promise<Appended> {
    return this.#database.during((ask) =>
      new Promise<Appended>((resolve, reject) => {
        this.#waiting.push({ fence, batch, ask, resolve, reject });
        this.#schedule();
      }).finally(() => {
        this.#busy.delete(fence.taskId);
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
    const group: Waiting[] = [];
    const later: Waiting[] = [];
    const passed = new Set(this.#busy);
    let characters = 0;
    for (const one of this.#waiting) {
      const { taskId } = one.fence;
      const isFull = group.length === APPENDS_AT_ONCE || characters > CHARACTERS_AT_ONCE;
      (isFull || passed.has(taskId) ? later : group).push(one);
      passed.add(taskId);
      for (const { body } of one.batch.events) characters += body.length;
    }
    this.#waiting = later;
    if (group.length === 0) return;
    group.forEach(({ fence }) => this.#busy.add(fence.taskId));
    void write(group);
    if (later.some(({ fence }) => !this.#busy.has(fence.taskId))) this.#schedule();
  }
}

/** The chains of the rows that were written with a fence. Only who has the fence writes rows of a chain. */
const CHAINS = new WeakMap<Fence, Chain>();

/** Settles the appends of a group. Writes each alone when the statement fails, so that no append fails or holds up others. */
async function write(group: readonly Waiting[]): Promise<void> {
  // All writers lock tasks in the order of their ids, so that none of them wait for each other.
  const ordered = group.toSorted((a, b) => (a.fence.taskId < b.fence.taskId ? -1 : 1));
  try {
    const appends = ordered.map((one) => ({ ...one, ...appendRows(one, CHAINS.get(one.fence)) }));
    const { rows } = await group[0]!.ask({ sql: APPEND, values: [appendValues(appends)] });
    const found = new Map((rows as readonly (Appended & { item: number })[]).map((row) => [row.item, row]));
    appends.forEach(({ fence, chain, resolve, reject }, index) => {
      const appended = found.get(index + 1);
      if (!appended) return reject(fenced());
      CHAINS.set(fence, chain);
      resolve(appended);
    });
  } catch (error) {
    if (group.length === 1 || isFaultOfDatabase(error)) group.forEach(({ reject }) => reject(error));
    else await Promise.all(group.map((one) => write([one])));
  }
}
