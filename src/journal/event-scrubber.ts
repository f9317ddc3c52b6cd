import type { ScrubStream, Scrubber } from '../core/secrets.js';
import { endsText } from '../core/activity.js';
import type { EventBody, LiveText, NewEvent, TextDelta } from '../core/task.js';
import { wellFormed } from '../core/text.js';
import { scrubEvent } from '../scrub/data.js';

interface OpenText {
  readonly stream: ScrubStream;
  /** The text that the stream got and returned since both were last the same. */
  raw: string;
  returned: string;
  /** The newest delta. Held back text is written with its author and artifact. */
  last: LiveText;
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
export class EventScrubber {
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
      const open = this.#texts.get(id);
      this.#texts.delete(id);
      return [...this.#endOthers(id), ...(open ? rest(open) : []), { author, body: whole }];
    }
    const scrubbed = { author, body: scrubEvent(body, this.#scrubber) };
    if (body.type === 'activity' && endsText(body.activity))
      return [...this.#completeTexts(author), scrubbed];
    return endsTexts(body) ? [...this.#endAll(endsAnswer(body)), scrubbed] : [scrubbed];
  }

  #scrubText(event: LiveText, isEmitted: boolean): readonly NewEvent[] {
    const { author, body } = event;
    const open = this.#texts.get(body.artifactId);
    const continues = open !== undefined && open.last.author === author && !body.replace;
    const held = open && !continues && !body.replace ? rest(open) : [];
    const before = [...(body.isMessage ? [] : this.#endOthers(body.artifactId)), ...held];
    const isNew = body.replace || !(body.isMessage || this.#begun.has(body.artifactId));
    if (!body.isMessage) this.#begun.add(body.artifactId);
    const text: OpenText = continues
      ? open
      : { stream: this.#scrubber.stream(), raw: '', returned: '', last: event, isNew, marksEnd: false };
    text.last = event;
    text.marksEnd = body.lastChunk === undefined ? isEmitted && !body.isMessage : !body.lastChunk;
    this.#texts.set(body.artifactId, text);
    const shown = text.stream.push(body.text);
    const isEven = text.raw + body.text === text.returned + shown;
    text.raw = isEven ? '' : text.raw + body.text;
    text.returned = isEven ? '' : text.returned + shown;
    // A text that the scrubber changed repeats nothing.
    const from = shown === body.text ? body.from : undefined;
    return [...before, ...textOf(text, { text: shown, from })];
  }

  /** Returns what would be written of the next text of a message or artifact, without a change. */
  peek({ author, body }: LiveText): readonly LiveText[] {
    const open = this.#texts.get(body.artifactId);
    if (!open || open.isNew || open.last.author !== author) return [];
    const all = this.#scrubber.stream().push(open.raw + body.text);
    const text = all.slice(open.returned.length);
    return text === '' ? [] : [{ author, body: { ...body, text, isLive: true } }];
  }

  /** Ends the other texts whose agent says nothing of their end. */
  #endOthers(artifactId: string): readonly NewEvent[] {
    const ends: NewEvent[] = [];
    for (const [id, text] of this.#texts) {
      if (id === artifactId || !text.marksEnd || text.last.body.lastChunk !== undefined) continue;
      this.#texts.delete(id);
      ends.push(...rest(text, true));
    }
    return ends;
  }

  /** Completes the texts of an agent below that begins a call or its next turn. */
  #completeTexts(author: string | undefined): readonly NewEvent[] {
    return [...this.#texts.values()].flatMap((text) => (text.last.author === author ? rest(text) : []));
  }

  #endAll(lastChunk: boolean): readonly NewEvent[] {
    const open = [...this.#texts.values()];
    this.#texts.clear();
    const ends: NewEvent[] = [];
    for (const text of open) ends.push(...rest(text, lastChunk));
    return ends;
  }
}

function rest(open: OpenText, lastChunk = false): readonly NewEvent[] {
  open.raw = '';
  open.returned = '';
  return textOf(open, { text: open.stream.end() }, lastChunk && open.marksEnd);
}

type Said = Pick<TextDelta, 'text' | 'from'>;

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
