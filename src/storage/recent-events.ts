import { ReleasingMap } from '../core/releasing-map.js';
import type { TaskHead } from '../stores/tasks.js';
import type { StoredEvent } from './rows.js';

const MAX_EVENTS = 1_000;
const MAX_CHARACTERS = 1024 * 1024;

/** A cache of the newest committed events of recently written tasks, so that followers need no query for them. */
export class RecentEvents {
  /** Sorted by last write, newest last. The events of a task have no gaps and end at its newest event. */
  readonly #tasks = new ReleasingMap<string, StoredEvent[]>();
  /** Walks over the tasks. It goes on where it stopped, as a new walk passes the places of all that was deleted. */
  #oldest = this.#tasks[Symbol.iterator]();
  #events = 0;
  #characters = 0;
  /** Tasks that ended in this turn of the event loop. */
  #ended: string[] = [];

  /** Call it after every commit, in order. */
  add(taskId: string, events: readonly StoredEvent[]): void {
    const known = this.#tasks.get(taskId) ?? [];
    // A gap means that another process wrote the events between.
    const isGap = known.length > 0 && known.at(-1)!.seq + 1 !== events[0]?.seq;
    if (isGap) this.#count(known, -1);
    const kept = isGap ? [] : known;
    kept.push(...events);
    this.#tasks.set(taskId, kept);
    this.#count(events, 1);
    while (this.#events > MAX_EVENTS || this.#characters > MAX_CHARACTERS) this.#evict();
    if (events.at(-1)?.parsed?.type === 'run-end') this.#forgetSoon(taskId);
  }

  /** A reader that waits for the end reads it in this turn. V8 soon allocates among its old objects what lives longer. */
  #forgetSoon(taskId: string): void {
    if (this.#ended.push(taskId) > 1) return;
    setImmediate(() => this.forget(this.#ended.splice(0)));
  }

  #evict(): void {
    const oldest = this.#oldest.next();
    if (oldest.done) this.#oldest = this.#tasks[Symbol.iterator]();
    else this.forget([oldest.value[0]]);
  }

  forget(taskIds: readonly string[]): void {
    for (const taskId of taskIds) {
      this.#count(this.#tasks.get(taskId) ?? [], -1);
      this.#tasks.delete(taskId);
    }
  }

  /** Call it with the head of a task. Forgets the task when another process has written a newer event than the cache has. */
  forgetBehind({ id, head }: TaskHead): void {
    const last = this.#tasks.get(id)?.at(-1);
    if (last && last.seq < head) this.forget([id]);
  }

  /** The events with `seq > after` in order, at most `limit`. Undefined if the cache may lack some of them. */
  read(taskId: string, after: number, limit: number): readonly StoredEvent[] | undefined {
    const events = this.#tasks.get(taskId);
    const first = events?.[0]?.seq;
    if (events === undefined || first === undefined || after + 1 < first) return undefined;
    const from = after + 1 - first;
    return events.slice(from, from + limit);
  }

  #count(events: readonly StoredEvent[], sign: 1 | -1): void {
    this.#events += sign * events.length;
    for (const { body, whole = body } of events) this.#characters += sign * whole.length;
  }
}
