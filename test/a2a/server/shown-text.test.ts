import { expect, it } from '@jest/globals';
import { ShownText } from '../../../src/a2a/server/shown-text.js';
import { TaskReading } from '../../../src/a2a/server/task-reading.js';
import type { EventBody, TaskEvent } from '../../../src/core/task.js';

const text = (artifactId: string, words: string): EventBody => ({
  ...{ type: 'text-delta', artifactId, text: words, replace: true, isMessage: true },
});

/** Texts of two delegations at once, and a run that was cut. A client may have seen more of the first text live. */
const LOG: readonly TaskEvent[] = [
  { type: 'message', message: { id: 'm', role: 'user', parts: [] } } as const,
  { type: 'run-start', attempt: 1 } as const,
  text('first', 'All'),
  text('second', 'All of it'),
  { type: 'run-start', attempt: 2 } as const,
].map((body, index) => ({ taskId: 't', seq: index + 1, at: 0, author: 'a', body }));

async function readingAt(seq: number): Promise<TaskReading> {
  const reading = new TaskReading({ id: 't', contextId: 'c' }, () => 'a');
  for (const event of LOG) if (event.seq <= seq) reading.add(event);
  return reading;
}

it('a client that comes back gets each text of a run that was cut once, whatever of that run it gets first', async () => {
  for (const cursor of [3, 4]) {
    const options = { taskId: 't', showsWhole: false, showsMessages: true, isResumed: true, readingAt };
    const shown = new ShownText(options);
    const texts: string[] = [];
    for (const event of LOG.slice(cursor))
      for (const { body } of await shown.event(event))
        if (body.type === 'text-delta') texts.push(`${body.artifactId}: ${body.text}`);
    expect(texts.toSorted()).toEqual(['first: All', 'second: All of it']);
  }
});
