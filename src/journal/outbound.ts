import { LangoError } from '../core/errors.js';
import type { EventBody, NewEvent } from '../core/task.js';

/** Text waits at most this long, and at most this much of it, before it becomes durable and visible. */
const TEXT_DELAY_MS = 50;
const TEXT_BATCH_CHARACTERS = 4 * 1024;

/** Of the entries a task may have, the last are kept for closing the run. */
const RESERVED_EVENTS = 10;

/** Whether a task with so many entries takes no more of them. */
export function isFull(head: number, limit: number): boolean {
  return head >= limit - RESERVED_EVENTS;
}

export function taskIsFull(limit: number): LangoError {
  return new LangoError('limit-reached', `a task may have ${limit} journal entries at most`, {
    hint: 'Start a new task in the same context. tasks.events is the limit.',
  });
}

export interface AppendReport {
  /** The head before and after; their distance exceeds `count` when somebody else appended in between. */
  readonly head: number;
  readonly count: number;
}

/**
 * The writing side of a run: keeps events in the order they were given, joins text, has one append
 * under way at a time, and stops for good at the first failure.
 */
export class Outbound {
  readonly #append: (events: readonly NewEvent[]) => Promise<number>;
  readonly #limit: number;
  readonly #onAppended: (report: AppendReport) => void;
  readonly #onFailure: (error: LangoError) => void;
  #pending: NewEvent[] = [];
  #pendingText = 0;
  #waiting: Waiting[] = [];
  #busy = false;
  /** Something waits that must not wait for the text timer. */
  #urgent = false;
  #timer: NodeJS.Timeout | undefined;
  #soon: NodeJS.Immediate | undefined;
  #failure: LangoError | undefined;
  #written: number;

  constructor(options: OutboundOptions) {
    this.#append = options.append;
    this.#limit = options.limit;
    this.#onAppended = options.onAppended;
    this.#onFailure = options.onFailure;
    this.#written = options.head;
  }

  get busy(): boolean {
    return this.#busy;
  }

  /** Resolves once the event and all before it are durable. */
  async append(event: NewEvent): Promise<void> {
    if (this.#failure) throw this.#failure;
    this.#push(event);
    await new Promise<void>((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#flush();
    });
  }

  emit(event: NewEvent): void {
    if (this.#failure) return;
    this.#push(event);
    if (event.body.type !== 'text-delta' || this.#pendingText >= TEXT_BATCH_CHARACTERS) {
      this.#urgent = true;
      this.#soon ??= setImmediate(() => this.#flush());
    } else {
      this.#timer ??= setTimeout(() => this.#flush(), TEXT_DELAY_MS);
    }
  }

  /** Resolves once all that was given so far is durable, or the outbound has failed. */
  async settle(): Promise<void> {
    while (!this.#failure && (this.#busy || this.#pending.length > 0)) {
      await new Promise<void>((resolve) => {
        this.#waiting.push({ resolve, reject: () => resolve() });
        this.#flush();
      });
    }
  }

  #push(event: NewEvent): void {
    const { body } = event;
    // Without its frame a run could neither begin nor say why it ends.
    const isFrame = body.type === 'run-start' || body.type === 'run-end';
    if (!isFrame && isFull(this.#written, this.#limit)) throw taskIsFull(this.#limit);
    const last = this.#pending.at(-1);
    const joined = last && body.type === 'text-delta' ? joinText(last, event) : undefined;
    if (joined) this.#pending[this.#pending.length - 1] = joined;
    else {
      this.#pending.push(event);
      this.#written += 1;
    }
    if (body.type === 'text-delta') this.#pendingText += body.text.length;
  }

  #flush(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#soon);
    this.#timer = undefined;
    this.#soon = undefined;
    if (this.#busy) {
      this.#urgent = true;
      return;
    }
    if (this.#pending.length === 0) {
      for (const { resolve } of this.#waiting.splice(0)) resolve();
      return;
    }
    const events = this.#pending;
    const waiting = this.#waiting;
    this.#pending = [];
    this.#waiting = [];
    this.#pendingText = 0;
    this.#urgent = false;
    this.#busy = true;
    this.#append(events).then(
      (head) => {
        this.#busy = false;
        this.#onAppended({ head, count: events.length });
        for (const { resolve } of waiting) resolve();
        if (this.#urgent) this.#flush();
      },
      (error: unknown) => this.#fail(error, waiting),
    );
  }

  #fail(error: unknown, waiting: readonly Waiting[]): void {
    this.#busy = false;
    this.#failure =
      error instanceof LangoError
        ? error
        : new LangoError('storage', 'the journal could not be written', { cause: error });
    for (const { reject } of [...waiting, ...this.#waiting]) reject(this.#failure);
    this.#waiting = [];
    this.#pending = [];
    this.#onFailure(this.#failure);
  }
}

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (error: LangoError) => void;
}

export interface OutboundOptions {
  /** Stores events with the next numbers; resolves with the new head once they are durable. */
  readonly append: (events: readonly NewEvent[]) => Promise<number>;
  /** The most entries the task may have. */
  readonly limit: number;
  /** The newest `seq` there is. */
  readonly head: number;
  readonly onAppended: (report: AppendReport) => void;
  /** Called once; nothing is written afterwards. */
  readonly onFailure: (error: LangoError) => void;
}

function joinText(last: NewEvent, next: NewEvent): NewEvent | undefined {
  const before: EventBody = last.body;
  const after: EventBody = next.body;
  if (before.type !== 'text-delta' || after.type !== 'text-delta') return undefined;
  if (after.replace || before.artifactId !== after.artifactId || last.author !== next.author)
    return undefined;
  if (before.text.length >= TEXT_BATCH_CHARACTERS) return undefined;
  return { author: last.author, body: { ...before, text: before.text + after.text } };
}
