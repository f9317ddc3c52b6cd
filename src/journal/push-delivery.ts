import type { TaskEvent } from '../core/task.js';

/** What one delivery says at most, in characters of joined text. */
const TEXT_CHARACTERS = 64 * 1024;

/** What is to be sent next of a task's log. */
export interface NextDelivery {
  /** The event as it is sent; text that waited is joined into one, with the number of its last piece. */
  readonly event: TaskEvent;
  /** When the first piece was written. */
  readonly since: number;
  /** More text could still be joined to it. */
  readonly mayGrow: boolean;
}

/**
 * The first delivery of `events`, which are in order; undefined when none of them is shown. The events up to its
 * number give the same delivery again.
 */
export function nextDelivery(
  events: readonly TaskEvent[],
  shows: (event: TaskEvent) => boolean,
): NextDelivery | undefined {
  const shown = events.filter(shows);
  const [first] = shown;
  if (!first) return undefined;
  if (first.body.type !== 'text-delta') return { event: first, since: first.at, mayGrow: false };
  let event: TaskEvent & { readonly body: TextDelta } = { ...first, body: first.body };
  for (const next of shown.slice(1)) {
    const joined = joinText(event, next);
    if (!joined) return { event, since: first.at, mayGrow: false };
    event = joined;
  }
  return { event, since: first.at, mayGrow: true };
}

type TextDelta = Extract<TaskEvent['body'], { readonly type: 'text-delta' }>;
type TextEvent = TaskEvent & { readonly body: TextDelta };

function joinText(event: TextEvent, next: TaskEvent): TextEvent | undefined {
  const { body } = next;
  if (body.type !== 'text-delta' || body.replace || body.artifactId !== event.body.artifactId)
    return undefined;
  if (next.author !== event.author) return undefined;
  const text = event.body.text + body.text;
  return text.length > TEXT_CHARACTERS ? undefined : { ...next, body: { ...event.body, text } };
}
