import { isLangoError, LangoError } from '../core/errors.js';
import { scrubEvent } from '../scrub/data.js';
import type { ScrubStream, Scrubber } from '../core/secrets.js';
import { joinOrigins, type Origin } from '../core/origin.js';
import { endsText, type EventBody, type NewEvent } from '../core/task.js';
import { wellFormed } from '../core/text.js';

/** Text becomes durable and visible after this time, or once this much of it waits. */
const TEXT_DELAY_MS = 50;
const TEXT_BATCH_CHARACTERS = 4 * 1024;

/** The last events that a task may have are reserved for closing its run. */
const RESERVED_EVENTS = 10;

/** Whether a task with `head` events accepts no more of them. */
export function isFull(head: number, limit: number): boolean {
  return head >= limit - RESERVED_EVENTS;
}

export function taskIsFull(limit: number): LangoError {
  return new LangoError('limit-reached', `A task may have at most ${limit} journal entries.`, {
    hint: 'Start a new task in the same context. tasks.events is the limit.',
  });
}

export interface AppendReport {
  /** The head after the append. It grew by more than `count` if somebody else appended in between. */
  readonly head: number;
  readonly count: number;
}

interface EventWriterOptions {
  /** Stores events with the next numbers. Resolves with the new head once they are durable. */
  readonly append: (events: readonly NewEvent[]) => Promise<number>;
  readonly scrubber: Scrubber;
  /** The most events the task may have. */
  readonly limit: number;
  /** The number of the newest event. */
  readonly head: number;
  /** The artifacts that the task already has. */
  readonly artifacts: ReadonlySet<string>;
  readonly onAppended: (report: AppendReport) => void;
  /** Called once. Nothing is written afterwards. */
  readonly onFailure: (error: LangoError) => void;
}

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (error: LangoError) => void;
}

/** Writes the events of one run, in order, without secrets, with text deltas joined. Stops for good at the first failure. */
export class EventWriter {
  readonly #options: EventWriterOptions;
  readonly #scrubber: EventScrubber;
  #pending: NewEvent[] = [];
  #pendingText = 0;
  readonly #waiting: Waiting[] = [];
  #busy = false;
  /** Whether a pending event must be written without waiting for the text timer. */
  #urgent = false;
  #timer: NodeJS.Timeout | undefined;
  #soon: NodeJS.Immediate | undefined;
  #failure: LangoError | undefined;
  #written: number;

  constructor(options: EventWriterOptions) {
    this.#options = options;
    this.#written = options.head;
    this.#scrubber = new EventScrubber(options.scrubber, options.artifacts);
  }

  get busy(): boolean {
    return this.#busy;
  }

  /** How many more events the task takes. */
  get room(): number {
    return Math.max(0, this.#options.limit - RESERVED_EVENTS - this.#written);
  }

  /** Resolves once the event and all events before it are durable. */
  async append(event: NewEvent): Promise<void> {
    const events = this.#scrubber.scrub(event, false);
    const last = events.at(-1);
    for (const earlier of events.slice(0, -1)) this.#enqueue(earlier);
    if (!last) return this.settle();
    if (this.#failure) throw this.#failure;
    this.#push(last);
    await new Promise<void>((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#flush();
    });
  }

  /** Returns at once. The event is written with the next batch, and dropped after a failure. */
  emit(event: NewEvent): void {
    for (const scrubbed of this.#scrubber.scrub(event, true)) this.#enqueue(scrubbed);
  }

  /** Resolves once every event given so far is durable, or the writer has failed. */
  async settle(): Promise<void> {
    while (!this.#failure && (this.#busy || this.#pending.length > 0)) {
      await new Promise<void>((resolve) => {
        this.#waiting.push({ resolve, reject: () => resolve() });
        this.#flush();
      });
    }
  }

  #enqueue(event: NewEvent): void {
    if (this.#failure) return;
    this.#push(event);
    if (event.body.type !== 'text-delta' || this.#pendingText >= TEXT_BATCH_CHARACTERS) {
      this.#urgent = true;
      this.#soon ??= setImmediate(() => this.#flush());
    } else {
      this.#timer ??= setTimeout(() => this.#flush(), TEXT_DELAY_MS);
    }
  }

  #push(event: NewEvent): void {
    const { body } = event;
    const { limit } = this.#options;
    // A full task still accepts these two events: a run must be able to begin and to record why it ended.
    const isFrame = body.type === 'run-start' || body.type === 'run-end';
    if (!isFrame && isFull(this.#written, limit)) throw taskIsFull(limit);
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
    this.#urgent = this.#busy;
    if (this.#busy) return;
    const waiting = this.#waiting.splice(0);
    const events = this.#pending.splice(0);
    if (events.length === 0) return waiting.forEach(({ resolve }) => resolve());
    this.#pendingText = 0;
    this.#busy = true;
    this.#options.append(events).then(
      (head) => {
        this.#busy = false;
        this.#options.onAppended({ head, count: events.length });
        for (const { resolve } of waiting) resolve();
        if (this.#urgent) this.#flush();
      },
      (error: unknown) => this.#fail(error, waiting),
    );
  }

  #fail(error: unknown, waiting: readonly Waiting[]): void {
    this.#busy = false;
    this.#failure = isLangoError(error)
      ? error
      : new LangoError('storage', 'The journal could not be written.', { cause: error });
    for (const { reject } of [...waiting, ...this.#waiting.splice(0)]) reject(this.#failure);
    this.#pending = [];
    this.#options.onFailure(this.#failure);
  }
}

function joinText(last: NewEvent, next: NewEvent): NewEvent | undefined {
  const before: EventBody = last.body;
  const after: EventBody = next.body;
  if (before.type !== 'text-delta' || after.type !== 'text-delta') return undefined;
  if (after.replace || before.name !== after.name) return undefined;
  if (before.artifactId !== after.artifactId || last.author !== next.author) return undefined;
  if (before.text.length >= TEXT_BATCH_CHARACTERS) return undefined;
  const { from: first, ...begun } = before;
  const from = after.text === '' ? first : joinOrigins(first, after.from);
  const more = { ...(after.lastChunk ? { lastChunk: true } : {}), ...(from && { from }) };
  return { author: last.author, body: { ...begun, ...more, text: before.text + after.text } };
}

type TextDelta = Extract<EventBody, { type: 'text-delta' }>;

interface OpenText {
  readonly stream: ScrubStream;
  /** The newest delta. Held back text is written with its author and artifact. */
  last: NewEvent & { readonly body: TextDelta };
  /** True until the first text of an artifact that starts again was written. */
  isNew: boolean;
  /** Whether the journal marks the end of this text. */
  marksEnd: boolean;
}

/**
 * Removes the values of secrets from everything that a run writes, so that no reader of the journal sees one, and marks
 * where artifacts begin and end if the agent did not: some clients drop a text that continues nothing, or never ends. It
 * holds text back only where a value may have begun, until the next delta decides it. A text ends with the run, or, when
 * its agent says nothing of its end, before the next artifact: with its last chunk when that is not written yet, otherwise
 * with an empty one.
 */
class EventScrubber {
  readonly #scrubber: Scrubber;
  readonly #begun: Set<string>;
  readonly #texts = new Map<string, OpenText>();

  constructor(scrubber: Scrubber, artifacts: ReadonlySet<string>) {
    this.#scrubber = scrubber;
    this.#begun = new Set(artifacts);
  }

  /**
   * The events to write now in place of `event`, in order: none, the event alone, or others before it. `isEmitted`: the end
   * of a text may be marked later. An appended text is whole once it is durable.
   */
  scrub(event: NewEvent, isEmitted: boolean): readonly NewEvent[] {
    const { author } = event;
    if (event.body.type === 'text-delta') return this.#scrubText({ author, body: event.body }, isEmitted);
    const body = wellFormed(event.body);
    if (body.type === 'artifact') {
      const { id } = body.artifact;
      this.#begun.add(id);
      const whole = { lastChunk: true, ...scrubEvent(body, this.#scrubber) };
      return [...this.#endOthers(id), ...this.#end(id), { author, body: whole }];
    }
    const scrubbed = { author, body: scrubEvent(body, this.#scrubber) };
    if (body.type === 'activity' && endsText(body.activity))
      return [...this.#completeTexts(author), scrubbed];
    return endsTexts(body) ? [...this.#endAll(endsAnswer(body)), scrubbed] : [scrubbed];
  }

  #scrubText(event: NewEvent & { readonly body: TextDelta }, isEmitted: boolean): readonly NewEvent[] {
    const { author, body } = event;
    const open = this.#texts.get(body.artifactId);
    const continues = open !== undefined && open.last.author === author && !body.replace;
    const held = open && !continues && !body.replace ? rest(open) : [];
    const before = [...(body.isMessage ? [] : this.#endOthers(body.artifactId)), ...held];
    const isNew = body.replace || !(body.isMessage || this.#begun.has(body.artifactId));
    if (!body.isMessage) this.#begun.add(body.artifactId);
    const fresh = { stream: this.#scrubber.stream(), last: event, isNew, marksEnd: false };
    const text: OpenText = continues ? open : fresh;
    text.last = event;
    text.marksEnd = body.lastChunk === undefined ? isEmitted && !body.isMessage : !body.lastChunk;
    this.#texts.set(body.artifactId, text);
    const shown = text.stream.push(body.text);
    // A text that the scrubber changed repeats nothing.
    const from = shown === body.text ? body.from : undefined;
    return [...before, ...textOf(text, { text: shown, from })];
  }

  /** Returns the held back rest of an artifact's text. A whole artifact with the same id follows. */
  #end(artifactId: string): readonly NewEvent[] {
    const open = this.#texts.get(artifactId);
    this.#texts.delete(artifactId);
    return open ? rest(open) : [];
  }

  /** Ends the other texts whose agent says nothing of their end. */
  #endOthers(artifactId: string): readonly NewEvent[] {
    const others = [...this.#texts].filter(
      ([id, { marksEnd, last }]) => id !== artifactId && marksEnd && last.body.lastChunk === undefined,
    );
    for (const [id] of others) this.#texts.delete(id);
    return others.flatMap(([, text]) => rest(text, true));
  }

  /** Completes the texts of an agent below that begins a call or its next turn. */
  #completeTexts(author: string | undefined): readonly NewEvent[] {
    return [...this.#texts.values()].flatMap((text) => (text.last.author === author ? rest(text) : []));
  }

  #endAll(lastChunk: boolean): readonly NewEvent[] {
    const open = [...this.#texts.values()];
    this.#texts.clear();
    return open.flatMap((text) => rest(text, lastChunk));
  }
}

function rest(open: OpenText, lastChunk = false): readonly NewEvent[] {
  return textOf(open, { text: open.stream.end(), from: undefined }, lastChunk && open.marksEnd);
}

type Said = { readonly text: string; readonly from: Origin | undefined };

function textOf(open: OpenText, { text, from }: Said, isEnd = false): readonly NewEvent[] {
  if (text === '' && (!isEnd || open.isNew)) return [];
  const { author, body } = open.last;
  const { lastChunk, from: _, ...rest } = body;
  const replace = open.isNew;
  open.isNew = false;
  const more = { ...(isEnd || lastChunk ? { lastChunk: true } : {}), ...(from && { from }) };
  return [{ author, body: { ...rest, ...more, text, replace } }];
}

/** Events after which no text continues. Events of other authors in between do not end a text. */
function endsTexts({ type }: EventBody): boolean {
  return type === 'turn-end' || type === 'delegation-end' || type === 'question' || type === 'run-end';
}

/** Whether the open texts end here as parts of the answer: they are not cut off, and no call follows them. */
function endsAnswer(body: EventBody): boolean {
  if (body.type === 'turn-end') return body.stopReason === 'end';
  return (body.type === 'delegation-end' || body.type === 'run-end') && body.state === 'completed';
}
