import type { Task } from '@a2a-js/sdk';
import type { Journal } from '../../core/journal.js';
import type { TaskEvent, TaskRecord } from '../../core/task.js';
import { stateAfter } from '../../core/task.js';
import { withAuthor } from '../translate/events.js';
import type { TaskView } from '../translate/task.js';
import { TaskFold } from '../translate/task.js';

const PAGE = 1_000;

/** Returns the author of an event (requirements A1 and A2). */
export type AuthorOf = (event: TaskEvent) => string;

/** Rebuilds a task as it stood after any of its events: add the events of its log, then ask for the protocol's Task. */
export class TaskReading {
  readonly #fold = new TaskFold();
  readonly #authorOf: AuthorOf;
  #record: TaskRecord;
  #head = 0;

  constructor(record: TaskRecord, authorOf: AuthorOf) {
    this.#record = { ...record, state: 'submitted', statusMessage: undefined };
    this.#authorOf = authorOf;
  }

  /** The `seq` of the last event added; 0 before the first. */
  get head(): number {
    return this.#head;
  }

  /** Call it with each event of the log, in order from the first. */
  add(event: TaskEvent): void {
    this.#fold.add(event, this.#authorOf(event));
    this.#head = event.seq;
    const state = stateAfter(event.body, this.#record.state);
    if (state === undefined) return;
    const message = event.body.type === 'run-end' ? event.body.message : undefined;
    const statusMessage = message && withAuthor(message, this.#authorOf(event));
    this.#record = { ...this.#record, state, statusMessage, statusAt: event.at };
  }

  toTask(view: TaskView): Task {
    return this.#fold.toTask({ ...this.#record, head: this.#head }, view);
  }
}

/** Reads the log of a task up to and including `head`. */
export async function readUpTo(journal: Journal, reading: TaskReading, place: LogPlace): Promise<void> {
  while (reading.head < place.head) {
    const missing = Math.min(PAGE, place.head - reading.head);
    const events = await journal.read(place.id, reading.head, missing);
    if (events.length === 0) return;
    for (const event of events) reading.add(event);
  }
}

type LogPlace = Pick<TaskRecord, 'id' | 'head'>;

/** Reads a task: its record, and its log as far as the view needs it. */
export async function readTask(journal: Journal, record: TaskRecord, look: Look): Promise<Task> {
  const { view, authorOf } = look;
  if (view.historyLength === 0 && !view.includeArtifacts) return new TaskFold().toTask(record, view);
  const reading = new TaskReading(record, authorOf);
  await readUpTo(journal, reading, record);
  return reading.toTask(view);
}

export interface Look {
  readonly view: TaskView;
  readonly authorOf: AuthorOf;
}
