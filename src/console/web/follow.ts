import { signal, type Signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { getTask, Refusal, subscribe } from './api.js';
import { hasEnded, seqOf, waits, type StreamEvent, type Task } from './wire.js';

const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 10_000;
/** From here on a redraw costs more than a frame. */
const MANY_EVENTS = 2_000;
const SLOW_DRAW_MS = 250;

/** A task with its events, as far as they are known. */
export interface Followed {
  readonly agent: string;
  readonly id: string;
  readonly task: Signal<Task | undefined>;
  readonly events: StreamEvent[]; // Grows at its end only. Read it after `count`.
  readonly count: Signal<number>;
  readonly fault: Signal<string>; // Why the task cannot be shown.
  readonly isAway: Signal<boolean>; // Whether the connection is away and the page tries again.
}

/** Reads a task with all its events and goes on with the new ones, over any number of broken connections. */
export function useFollowed(agent: string, id: string): Followed {
  const followed = useMemo<Followed>(
    () => ({
      ...{ agent, id, events: [] },
      ...{ task: signal(undefined), count: signal(0), fault: signal(''), isAway: signal(false) },
    }),
    [agent, id],
  );
  useEffect(() => {
    const end = new AbortController();
    void follow(followed, end.signal);
    return () => end.abort();
  }, [followed]);
  return followed;
}

async function follow(followed: Followed, end: AbortSignal): Promise<void> {
  const { agent, id, task, fault, isAway } = followed;
  for (let pause = FIRST_RETRY_MS; !end.aborted; pause = Math.min(2 * pause, LONGEST_RETRY_MS)) {
    const known = followed.events.length;
    try {
      const first = task.value ? undefined : getTask(agent, id).then((known) => (task.value = known));
      await Promise.all([first, readEvents(followed, end)]);
      task.value = await getTask(agent, id);
      isAway.value = false;
      if (hasEnded(task.value.status.state)) return;
    } catch (error) {
      if (end.aborted) return;
      if (error instanceof Refusal && !error.isTemporary) {
        fault.value = error.message;
        return;
      }
      isAway.value = true;
    }
    if (followed.events.length > known) pause = FIRST_RETRY_MS;
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

async function readEvents({ agent, id, task, events, count, isAway }: Followed, signal: AbortSignal) {
  const numbered = events.findLast((event) => seqOf(event) > 0);
  let after = numbered ? seqOf(numbered) : 0;
  let isDrawing = false;
  const draw = () => {
    isDrawing = false;
    count.value = events.length;
  };
  for await (const batch of subscribe(agent, id, { after, signal })) {
    isAway.value = false;
    for (const event of batch) {
      const seq = seqOf(event);
      // Live text has no number.
      if (seq !== 0 && seq <= after) continue;
      // A message of a person is not in the stream. The task has it as soon as it continues.
      const before = events.findLast(({ statusUpdate }) => statusUpdate);
      if (goesOn(before, event)) getTask(agent, id).then((fresh) => (task.value = fresh), ignore);
      after = Math.max(after, seq);
      events.push(event);
    }
    // A page redraws at most once in a frame, however fast the events come. Hidden pages have no frames.
    if (!isDrawing && batch.length > 0) {
      isDrawing = true;
      if (document.hidden || events.length > MANY_EVENTS) setTimeout(draw, SLOW_DRAW_MS);
      else requestAnimationFrame(draw);
    }
  }
  draw();
}

const ignore = () => undefined;

function goesOn(before: StreamEvent | undefined, event: StreamEvent): boolean {
  const state = before?.statusUpdate?.status.state ?? '';
  return waits(state) && event.statusUpdate !== undefined && !waits(event.statusUpdate.status.state);
}
