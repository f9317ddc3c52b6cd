import { Task } from '@a2a-js/sdk';
import { BoundedCache } from '../../core/bounded-cache.js';
import { readPages, type Journal } from '../../core/journal.js';
import {
  isTerminal,
  stateAfter,
  type BodyOf,
  type LiveText,
  type TaskEvent,
  type TaskRecord,
  type TextDelta,
} from '../../core/task.js';
import { withAuthor } from '../translate/events.js';
import { TaskFold, type TaskStatus, type TaskView } from '../translate/task.js';
import type { TaskSnapshot } from '../translate/updates.js';

/** The newest messages in the response to a send and in a push config's Task, without `historyLength`. GetTask has all. */
export const DEFAULT_HISTORY_LENGTH = 50;

/** Returns the author of an event (requirements A1 and A2). */
export type AuthorOf = (event: Pick<TaskEvent, 'author'>) => string;

/** The part of a task's record that readings and streams hold. */
export type TaskIds = Pick<TaskRecord, 'id' | 'contextId'>;

/** Rebuilds a task as it stood after any of its events: add the events of its log, then ask for the protocol's Task. */
export class TaskReading {
  readonly #fold = new TaskFold();
  readonly #authorOf: AuthorOf;
  #record: TaskStatus;
  #head = 0;
  #texts: Map<string, TaskEvent & LiveText> | undefined;

  constructor({ id, contextId }: TaskIds, authorOf: AuthorOf) {
    this.#record = { id, contextId, state: 'submitted', statusMessage: undefined, statusAt: 0, head: 0 };
    this.#authorOf = authorOf;
  }

  /** The newest event of each text of the newest run. */
  get textsOfRun(): readonly (TaskEvent & LiveText)[] {
    return [...(this.#texts?.values() ?? [])];
  }

  /** The task as it stood after the last event added. */
  get record(): TaskStatus {
    return this.#record;
  }

  /** The `seq` of the last event added; 0 before the first. */
  get head(): number {
    return this.#head;
  }

  /** Call it with each event of the log, in order from the first. Events that it has are left out. */
  add(event: TaskEvent): void {
    if (event.seq <= this.#head) return;
    this.#fold.add(event, this.#authorOf(event));
    this.#head = event.seq;
    const { body } = event;
    if (body.type === 'run-start') this.#texts = undefined;
    if (body.type === 'text-delta') (this.#texts ??= new Map()).set(body.artifactId, event);
    const state = stateAfter(body, this.#record.state);
    if (state === undefined) return;
    const message = body.type === 'run-end' || body.type === 'status' ? body.message : undefined;
    const statusMessage = message && withAuthor(message, this.#authorOf(event));
    this.#record = { ...this.#record, state, statusMessage, statusAt: event.at };
  }

  /** The whole text that a delta is a part of, as an event that replaces it; without text when there is none. */
  whole({ artifactId, isMessage }: TextDelta): TextDelta | BodyOf<'artifact'> {
    const text = isMessage ? this.#fold.saidIn(`${this.#record.id}:${artifactId}`) : '';
    const artifact = isMessage ? undefined : this.#fold.artifacts().find(({ id }) => id === artifactId);
    if (artifact) return { type: 'artifact', artifact, append: false, lastChunk: false };
    return { type: 'text-delta', artifactId, text, replace: true, ...(isMessage && { isMessage }) };
  }

  toTask(view: TaskView): Task {
    return this.#fold.toTask({ ...this.#record, head: this.#head }, view);
  }

  toSnapshot(): TaskSnapshot {
    return this.#fold.toSnapshot({ ...this.#record, head: this.#head });
  }
}

/** The most that all readings of waiting tasks hold together, in characters of their events. */
const MAX_KEPT_CHARACTERS = 8 * 1024 * 1024;

class WaitingTask extends TaskReading {
  size = 0;

  override add(event: TaskEvent): void {
    if (event.seq > this.head) this.size += JSON.stringify(event.body).length;
    super.add(event);
  }
}

/** Keeps the readings of waiting tasks, so that a response reads only new events. A log only grows: none becomes wrong. */
export class WaitingTasks {
  readonly #tasks = new BoundedCache<string, WaitingTask>(MAX_KEPT_CHARACTERS);
  readonly #authorOf: AuthorOf;

  constructor(authorOf: AuthorOf) {
    this.#authorOf = authorOf;
  }

  /** Returns a reading without any event after `head`. It belongs to the caller alone until `keep`. */
  take(task: TaskIds, head: number): TaskReading {
    if (head === 1) return new TaskReading(task, this.#authorOf);
    const kept = this.#tasks.take(task.id);
    return kept && kept.head <= head ? kept : new WaitingTask(task, this.#authorOf);
  }

  keep(reading: TaskReading): void {
    const { id, state } = reading.record;
    if (reading instanceof WaitingTask && !isTerminal(state)) this.#tasks.set(id, reading, reading.size);
  }

  /** Drops the reading of a task that has ended. */
  forget(taskId: string): void {
    this.#tasks.take(taskId);
  }
}

interface LogReader {
  /** The newest event that it has. Default: none. */
  readonly head?: number;
  add(event: TaskEvent): unknown;
}

/** Gives a reader the log of a task up to and including `head`, as far as it lacks it. Resolves with the reader. */
export async function readUpTo<Reader extends LogReader>(
  journal: Pick<Journal, 'read'>,
  reader: Reader,
  { id, head }: Pick<TaskRecord, 'id' | 'head'>,
): Promise<Reader> {
  for await (const events of readPages(journal, id, { after: reader.head ?? 0, head }))
    for (const event of events) reader.add(event);
  return reader;
}

const SEGMENT_BYTES = 500_000;
/** The number of events that one read loads: each has at most `tasks.eventBytes`. */
const EVENTS_PER_READ = 16;

/**
 * Exports the events of a task after `after` (0: from the first) until the end of its log or the size of a segment, which
 * is small enough to be sent in one piece.
 */
export async function exportTask(
  journal: Pick<Journal, 'read'>,
  record: TaskRecord,
  { after, rootAgentName }: { readonly after: number; readonly rootAgentName: string },
) {
  const fold = new TaskFold();
  let head = after;
  let bytes = 0;
  const range = { after, head: record.head, size: EVENTS_PER_READ };
  for await (const events of readPages(journal, record.id, range)) {
    for (const event of events) fold.add(event, event.author ?? rootAgentName);
    head = events.at(-1)!.seq;
    bytes += Buffer.byteLength(JSON.stringify(events));
    if (bytes >= SEGMENT_BYTES) break;
  }
  const task = fold.toTask({ ...record, head }, { historyLength: undefined, includeArtifacts: true });
  const continues = after === 0 ? [] : fold.continued();
  return {
    /**
     * The task as GetTask returns it, with all messages and artifacts of this segment, and the name of its agent.
     * `continues` names the artifacts that continue one of the previous segment. Any other artifact replaces an earlier
     * one of the same id.
     */
    item: {
      agent: record.agent,
      ...(Task.toJSON(task) as object),
      ...(continues.length > 0 ? { continues } : {}),
    },
    /** The size of the segment's events as JSON. */
    bytes,
    /** The `seq` of the segment's last event; undefined when no segment follows. */
    next: head < record.head && head > after ? head : undefined,
  };
}
