import { textPart } from '../../core/message.js';
import type { LiveText, TaskEvent, TextDelta } from '../../core/task.js';
import type { ShownEvent } from '../translate/events.js';
import type { TaskReading } from './task-reading.js';

export interface ShownTextOptions {
  readonly taskId: string;
  /** Whether an event is shown whole after a part of its text was shown live. Otherwise only the rest of it is. */
  readonly showsWhole: boolean;
  /** Whether live text of messages is shown. */
  readonly showsMessages: boolean;
  /** Whether the client came back with a cursor. It may have seen live text beyond it. */
  readonly isResumed: boolean;
  /** Reads the task as it stood after an event. */
  readonly readingAt: (seq: number) => Promise<TaskReading>;
}

type Whole = Promise<readonly ShownEvent[]>;
/** The next thing to show. A promise only where the journal must be read. */
type Shown = readonly ShownEvent[] | Whole;
type TextEvent = ShownEvent & LiveText;

/**
 * The text that one subscriber is shown before it is in the journal. An event that brings such text is shown with its
 * number and the rest of its text. Where the client may have another text than the journal, the whole text replaces it.
 */
export class ShownText {
  readonly #options: ShownTextOptions;
  /** Text that the client has beyond the newest event that it was shown, by the id of the artifact or message. */
  readonly #ahead = new Map<string, LiveText>();
  /** The texts of which a client that came back has got the newest since. */
  readonly #known: Set<string> | undefined;
  /** Whether a client that came back was shown no beginning or end of a run since. */
  #isBetween: boolean;

  constructor(options: ShownTextOptions) {
    this.#options = options;
    const mayLack = options.isResumed && !options.showsWhole;
    this.#known = mayLack ? new Set() : undefined;
    this.#isBetween = mayLack;
  }

  /** The part to show of the live text that follows the event `after`, the newest that was shown. */
  live(texts: readonly LiveText[], after: number): Shown {
    const shown: (ShownEvent | Whole)[] = [];
    for (const { author, body } of this.#joined(texts)) {
      const ahead = this.#ahead.get(body.artifactId)?.body.text ?? '';
      // Other text than what was shown is settled by its event. `startsWith` would compare one character at a time.
      if (body.text.length <= ahead.length || body.text.slice(0, ahead.length) !== ahead) continue;
      this.#ahead.set(body.artifactId, { author, body });
      const event = { taskId: this.#options.taskId, seq: undefined, at: Date.now(), author, body };
      if (this.#mustReplace(body)) shown.push(this.#whole(event, after, body.text));
      else shown.push({ ...event, body: { ...body, text: body.text.slice(ahead.length) } });
    }
    return inOrder(shown);
  }

  /** The next event as it is shown: alone, or after what corrects the text that the client has. */
  event(event: TaskEvent): Shown {
    const { body } = event;
    if (body.type === 'text-delta') return inOrder([this.#settled({ ...event, body })]);
    if (body.type === 'artifact') this.#ahead.delete(body.artifact.id);
    if (body.type !== 'run-start' && body.type !== 'run-end') return [event];
    const isBetween = this.#isBetween;
    this.#isBetween = false;
    // The text of a run that was cut is lost where it was not in the journal yet.
    const about = { ...event, seq: undefined };
    const texts = this.#options.showsWhole ? [] : [...this.#ahead.values()];
    const lost = texts.map((text) => this.#whole({ ...about, ...text }, event.seq));
    this.#ahead.clear();
    if (isBetween && body.type === 'run-start') lost.push(this.#cut(event.seq));
    return inOrder([...lost, event]);
  }

  /** The text of each artifact and message as one. */
  #joined(texts: readonly LiveText[]): readonly LiveText[] {
    const shown = this.#options.showsMessages ? texts : texts.filter(({ body }) => !body.isMessage);
    if (shown.length < 2) return shown;
    const joined = new Map<string, LiveText>();
    for (const text of shown) {
      const { artifactId: id, isMessage: _, ...rest } = text.body;
      const before = joined.get(id);
      const body = before && { ...before.body, ...rest, text: before.body.text + rest.text };
      joined.set(id, body ? { author: before.author, body } : text);
    }
    return [...joined.values()];
  }

  #settled(event: TaskEvent & LiveText): ShownEvent | Whole {
    const { body } = event;
    const { artifactId: id, text, replace } = body;
    const ahead = this.#ahead.get(id);
    this.#ahead.delete(id);
    if (!ahead) return this.#mustReplace(body) ? this.#whole(event, event.seq) : event;
    const shown = ahead.body.text;
    const isMore = !replace && shown.length > text.length && shown.startsWith(text);
    if (isMore) this.#ahead.set(id, { ...ahead, body: { ...ahead.body, text: shown.slice(text.length) } });
    if (replace || this.#options.showsWhole) return event;
    if (isMore) return { ...event, body: { ...body, text: '', lastChunk: false } };
    if (!text.startsWith(shown)) return this.#whole(event, event.seq);
    return { ...event, body: { ...body, text: text.slice(shown.length) } };
  }

  /** Whether the client may have seen more of the text than its cursor says, and was shown nothing of it since. */
  #mustReplace({ artifactId, replace, isLive, isMessage }: TextDelta): boolean {
    if (!this.#known || this.#known.has(artifactId)) return false;
    this.#known.add(artifactId);
    return isLive === true && !replace && (!isMessage || this.#options.showsMessages);
  }

  /** The whole text of an artifact or message as of the event `seq`, with what follows it live, in place of `event`. */
  async #whole(event: TextEvent, seq: number, more = ''): Whole {
    const { body } = event;
    const whole = (await this.#options.readingAt(seq)).whole(body);
    if (whole.type === 'text-delta')
      return [{ ...event, body: { ...body, ...whole, text: whole.text + more } }];
    const { lastChunk = false } = body;
    const parts = [...whole.artifact.parts, ...(more === '' ? [] : [textPart(more)])];
    return [{ ...event, body: { ...whole, lastChunk, artifact: { ...whole.artifact, parts } } }];
  }

  /** Each text of a run that was cut, unless the client got it since: it may have seen more of it than was kept. */
  async #cut(seq: number): Whole {
    const reading = await this.#options.readingAt(seq - 1);
    if (reading.record.state !== 'working') return [];
    const texts = reading.textsOfRun.filter(
      ({ body }) => !this.#known?.has(body.artifactId) && (!body.isMessage || this.#options.showsMessages),
    );
    const wholes = texts.map((text) => this.#whole({ ...text, seq: undefined }, seq));
    return (await Promise.all(wholes)).flat();
  }
}

function inOrder(shown: readonly (ShownEvent | Whole)[]): Shown {
  const isRead = (one: ShownEvent | Whole): one is ShownEvent => !(one instanceof Promise);
  if (shown.every(isRead)) return shown;
  return Promise.all(shown.map(async (one) => (isRead(one) ? [one] : one))).then((ones) => ones.flat());
}
