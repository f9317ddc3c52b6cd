import { isLangoError, LangoError } from '../core/errors.js';
import type { Scrubber } from '../core/secrets.js';
import { joinOrigins } from '../core/origin.js';
import type { LiveText, NewEvent } from '../core/task.js';
import type { Box } from '../core/releasing-map.js';
import { AlarmClock, inNextTurn } from '../core/time.js';
import { EventScrubber } from './event-scrubber.js';

/** Text becomes durable after this time, or once this much of it waits; the beginning of a text at once. */
const TEXT_DELAY_MS = 1_000;
/** The texts of all runs become durable together, up to this much earlier: each on its own costs a commit. */
const TEXT_EACH_MS = 250;
const CLOCK = new AlarmClock();
const TEXT_BATCH_CHARACTERS = 16 * 1024;
/** The most text of one event. */
const TEXT_EVENT_CHARACTERS = 4 * 1024;

/** The last events that a task may have are reserved for closing its run. */
const RESERVED_EVENTS = 10;
/** The most text that is scrubbed at once: each piece costs as much as this much of it. */
const TEXT_SCRUBBED_CHARACTERS = 1024;

/** Whether a task with `head` events accepts no more of them. */
export function isFull(head: number, limit: number): boolean {
  return head >= limit - RESERVED_EVENTS;
}

export function taskIsFull(limit: number): LangoError {
  return new LangoError('limit-reached', `A task may have at most ${limit} journal entries.`, {
    hint: 'Start a new task in the same context. tasks.events is the limit.',
  });
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
  /** Called with the head after an append. It grew by more than `count` if somebody else appended in between. */
  readonly onAppended: (head: number, count: number) => void;
  /** Called when `liveText` returns more. */
  readonly onLiveText: () => void;
  /** Called once. Nothing is written afterwards. */
  readonly onFailure: (error: LangoError) => void;
}

type Waiting = Pick<PromiseWithResolvers<void>, 'resolve' | 'reject'>;

/** Writes the events of one run, in order, without secrets, with text deltas joined. Stops for good at the first failure. */
export class EventWriter {
  readonly #options: EventWriterOptions;
  readonly #scrubber: EventScrubber;
  /** The texts that are shown and not emitted yet, by artifact, before they are scrubbed. */
  readonly #previews = new Map<string, LiveText>();
  #pending: NewEvent[] = [];
  /** Emitted text that goes on, whose pieces are scrubbed as one before anybody reads them. */
  #more: LiveText | undefined;
  #moreText = '';
  #pendingText = 0;
  readonly #waiting: Waiting[] = [];
  #busy = false;
  /** Whether a pending event must be written without waiting for the text timer. */
  #urgent = false;
  #alarm: Disposable | undefined;
  #soon: Box<() => void> | undefined;
  #failure: LangoError | undefined;
  #written: number;
  /** The number of the newest event, as far as this writer knows. */
  #head: number;

  constructor(options: EventWriterOptions) {
    this.#options = options;
    this.#written = options.head;
    this.#head = options.head;
    this.#scrubber = new EventScrubber(options.scrubber, options.artifacts);
  }

  get busy(): boolean {
    return this.#busy;
  }

  /** The number of events that the task still takes. */
  get room(): number {
    return Math.max(0, this.#options.limit - RESERVED_EVENTS - this.#written);
  }

  /** Resolves once the event and all events before it are durable. */
  append(event: NewEvent): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#emitMore();
      this.#unpreview(event);
      const events = this.#scrubber.scrub(event, false);
      if (events.length === 0) return resolve(this.settle());
      if (this.#failure) throw this.#failure;
      for (const scrubbed of events) this.#push(scrubbed);
      this.#waiting.push({ resolve, reject });
      this.#flush();
    });
  }

  /** Returns at once. The event is written with the next batch, and dropped after a failure. */
  emit(event: NewEvent): void {
    if (this.#more && goesOn(this.#more, event)) {
      this.#moreText += event.body.text;
      if (this.#moreText.length >= TEXT_SCRUBBED_CHARACTERS) this.#emitMore();
      return;
    }
    this.#emitMore();
    if (this.#mayWait(event)) [this.#more, this.#moreText] = [event, event.body.text];
    else this.#emitNow(event);
    if (this.#alarm) this.#options.onLiveText();
  }

  #emitNow(event: NewEvent): void {
    const isLive = this.#unpreview(event);
    for (const scrubbed of this.#scrubber.scrub(event, true))
      this.#enqueue(isLive ? asLive(scrubbed) : scrubbed);
  }

  #emitMore(): void {
    if (!this.#more) return;
    const { author, body } = this.#more;
    this.#more = undefined;
    this.#emitNow({ author, body: { ...body, text: this.#moreText } });
  }

  /** Whether text goes on where the newest one ended, which is to be written soon, and the task has room for it. */
  #mayWait(event: NewEvent): event is LiveText {
    const last = this.#pending.at(-1);
    if (!this.#alarm || !last || !isText(last) || this.#previews.size > 0) return false;
    return goesOn(last, event) && !isFull(this.#written + RESERVED_EVENTS, this.#options.limit);
  }

  /** Shows text that will be emitted later. */
  preview({ author, body }: LiveText): void {
    this.#emitMore();
    const known = this.#previews.get(body.artifactId)?.body;
    const joined = known && !body.replace ? { ...known, text: known.text + body.text } : body;
    this.#previews.set(body.artifactId, { author, body: joined });
    this.#options.onLiveText();
  }

  /**
   * The text that directly follows the event `after`. None while an append is under way: its events come first. The
   * beginning of a text is not shown before it is durable, so that the journal knows each text that anybody saw.
   */
  liveText(after: number): readonly LiveText[] {
    if (this.#busy || this.#failure || after < this.#head) return [];
    this.#emitMore();
    const next = this.#pending.findIndex(({ body }) => body.type !== 'text-delta' || body.replace);
    const count = next < 0 ? this.#pending.length : next;
    for (let index = 0; index < count; index += 1) this.#pending[index] = asLive(this.#pending[index]!);
    const texts = this.#pending.slice(0, count) as LiveText[];
    if (next >= 0 || this.#previews.size === 0) return texts;
    const shown = [...this.#previews.values()].filter(({ body }) => !body.replace);
    return [...texts, ...shown.flatMap((text) => this.#scrubber.peek(text))];
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
    const { body } = event;
    if (body.type !== 'text-delta' || body.replace || this.#pendingText >= TEXT_BATCH_CHARACTERS) {
      this.#urgent = true;
      this.#soon ??= inNextTurn(() => this.#flush());
    } else {
      this.#alarm ??= CLOCK.after(TEXT_DELAY_MS, () => this.#flush(), TEXT_EACH_MS);
    }
  }

  /** Takes from the previews what is emitted now. Returns whether subscribers may have seen it. */
  #unpreview({ body }: NewEvent): boolean {
    if (body.type === 'run-end') this.#previews.clear();
    const preview = body.type === 'text-delta' && this.#previews.get(body.artifactId);
    if (!preview) return false;
    const { text, replace } = preview.body;
    // Text from before the beginning that was shown.
    if (replace && !body.replace) return true;
    const rest = replace === body.replace && text.startsWith(body.text) ? text.slice(body.text.length) : '';
    if (rest === '') this.#previews.delete(body.artifactId);
    else
      this.#previews.set(body.artifactId, {
        ...preview,
        body: { ...preview.body, replace: false, text: rest },
      });
    return true;
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
    this.#emitMore();
    this.#alarm?.[Symbol.dispose]();
    if (this.#soon) this.#soon.value = undefined;
    this.#alarm = undefined;
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
        this.#head = head;
        this.#options.onAppended(head, events.length);
        for (const { resolve } of waiting) resolve();
        if (this.#urgent) this.#flush();
        else if (this.#pendingText > 0 || this.#previews.size > 0) this.#options.onLiveText();
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
    this.#more = undefined;
    this.#alarm?.[Symbol.dispose]();
    this.#alarm = undefined;
    this.#options.onFailure(this.#failure);
  }
}

function isText(event: NewEvent): event is LiveText {
  return event.body.type === 'text-delta';
}

/** Whether an event is text that goes on the text of `last`, and differs from it in nothing else. */
function goesOn({ author, body: before }: LiveText, event: NewEvent): event is LiveText {
  if (!isText(event) || event.author !== author) return false;
  const { artifactId, name, isMessage, replace, lastChunk, from } = event.body;
  if (replace || lastChunk || from || before.lastChunk || before.from) return false;
  return artifactId === before.artifactId && name === before.name && isMessage === before.isMessage;
}

function joinText(last: NewEvent, next: NewEvent): NewEvent | undefined {
  if (!isText(last) || !isText(next)) return undefined;
  const [before, after] = [last.body, next.body];
  if (after.replace || before.name !== after.name) return undefined;
  if (before.artifactId !== after.artifactId || last.author !== next.author) return undefined;
  if (before.text.length >= TEXT_EVENT_CHARACTERS) return undefined;
  const { from: first, ...begun } = before;
  const from = after.text === '' ? first : joinOrigins(first, after.from);
  const { lastChunk, isLive } = after;
  const more = { ...(lastChunk && { lastChunk }), ...(isLive && { isLive }), ...(from && { from }) };
  return { author: last.author, body: { ...begun, ...more, text: before.text + after.text } };
}

function asLive<Event extends NewEvent>(event: Event): Event {
  const { body } = event;
  return body.type !== 'text-delta' || body.isLive ? event : { ...event, body: { ...body, isLive: true } };
}
