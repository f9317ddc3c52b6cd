import type { ScrubStream, Scrubber } from '../core/secrets.js';
import type { EventBody, NewEvent } from '../core/task.js';
import { scrubEvent } from '../core/scrub-event.js';

type TextDelta = Extract<EventBody, { type: 'text-delta' }>;

interface OpenText {
  readonly stream: ScrubStream;
  /** The newest piece: what is held back is written like it. */
  last: NewEvent & { readonly body: TextDelta };
  /** The artifact starts again, and nothing of it was written yet. */
  isNew: boolean;
}

/**
 * The border that everything passes that a run writes: no value of a secret gets into the journal, and so to nobody who
 * reads it. A text that comes in pieces is held back only where a value may have begun, until it is sure.
 */
export class CleanEvents {
  readonly #scrubber: Scrubber;
  readonly #texts = new Map<string, OpenText>();

  constructor(scrubber: Scrubber) {
    this.#scrubber = scrubber;
  }

  /** What may be written now in the place of `event`, in order: nothing, it alone, or held back text before it. */
  clean(event: NewEvent): readonly NewEvent[] {
    if (this.#scrubber.isEmpty && this.#texts.size === 0) return [event];
    const { author, body } = event;
    if (body.type === 'text-delta') return this.#piece({ author, body });
    const cleaned = { author, body: scrubEvent(body, this.#scrubber) };
    return endsTexts(body) ? [...this.#endAll(), cleaned] : [cleaned];
  }

  #piece(event: NewEvent & { readonly body: TextDelta }): readonly NewEvent[] {
    const { author, body } = event;
    const open = this.#texts.get(body.artifactId);
    const goesOn = open !== undefined && open.last.author === author && !body.replace;
    const before = open && !goesOn && !body.replace ? this.#end(open) : [];
    const text = goesOn ? open : { stream: this.#scrubber.stream(), last: event, isNew: body.replace };
    text.last = event;
    this.#texts.set(body.artifactId, text);
    return [...before, ...written(text, text.stream.push(body.text))];
  }

  #endAll(): readonly NewEvent[] {
    const open = [...this.#texts.values()];
    this.#texts.clear();
    return open.flatMap((text) => this.#end(text));
  }

  #end(text: OpenText): readonly NewEvent[] {
    return written(text, text.stream.end());
  }
}

function written(open: OpenText, text: string): readonly NewEvent[] {
  if (text === '') return [];
  const { author, body } = open.last;
  const replace = open.isNew;
  open.isNew = false;
  return [{ author, body: { ...body, text, replace } }];
}

/** After these, no text that was begun goes on. What others do meanwhile does not end a text. */
function endsTexts({ type }: EventBody): boolean {
  return type === 'turn-end' || type === 'delegation-end' || type === 'question' || type === 'run-end';
}
