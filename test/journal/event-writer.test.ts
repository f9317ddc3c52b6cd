import { afterEach, expect, it } from '@jest/globals';
import { textOf, textPart } from '../../src/core/message.js';
import { compileScrubber } from '../../src/scrub/scrubber.js';
import { close, closed, ended, journal, message, open, store } from './journal-under-test.js';

afterEach(close);

const VALUE = 'hunter2-swordfish';
const MASK = '{{secret:mail}}';
const scrubber = compileScrubber([{ value: VALUE, mask: MASK, encodedMask: '[secret mail, encoded]' }]);

it('a run has the values of secrets removed from each of its events and from its end', async () => {
  await open(
    async (run) => {
      run.emit({ type: 'activity', activity: { type: 'text', text: `signing in with ${VALUE}` } });
      run.emit({ type: 'text-delta', artifactId: 'answer', text: 'It is hunter2-', replace: true });
      run.emit({ type: 'text-delta', artifactId: 'answer', text: 'swordfish.', replace: false });
      const parts = [textPart(`${VALUE} in a file`)];
      await run.append({
        type: 'artifact',
        artifact: { id: 'file', name: `${VALUE}.txt`, parts },
        append: false,
      });
      return { state: 'completed', text: `Done with ${VALUE}` };
    },
    { secrets: { scrubber: () => scrubber } },
  );
  const { task } = await journal.submit(message('go'));
  const written = JSON.stringify(await ended(task.id));
  expect(written.split(MASK)).toHaveLength(6);
  expect(written).not.toContain('swordfish');
});

/**
 * The artifacts that a task wrote: the id, a text, whether it begins the artifact, and whether it ends the artifact.
 */
async function artifactsOf(taskId: string, runs = 1): Promise<readonly unknown[]> {
  await closed(taskId, runs);
  const events = await store.read(taskId, 0, 100);
  return events.flatMap(({ body }) => {
    if (body.type === 'text-delta')
      return [[body.artifactId, body.text, body.replace, body.lastChunk ?? false]];
    if (body.type !== 'artifact') return [];
    return [[body.artifact.id, textOf(body.artifact.parts), !body.append, body.lastChunk ?? false]];
  });
}

it('an artifact has its beginning and its end marked for an agent that does not mark them', async () => {
  await open(async (run) => {
    const say = (artifactId: string, text: string): void =>
      run.emit({ type: 'text-delta', artifactId, text, replace: false });
    say('answer', 'It ');
    await run.append({ type: 'activity', activity: { type: 'text', text: 'working' } });
    say('answer', 'is done.');
    say('note', 'a note');
    // The agent continues without text: the artifact's text is complete before its end is known.
    await run.append({ type: 'activity', activity: { type: 'text', text: 'working' } });
    run.emit({ type: 'artifact', artifact: { id: 'file', parts: [textPart('whole')] }, append: false });
    return { state: 'completed' };
  });
  const { task } = await journal.submit(message('go'));
  expect(await artifactsOf(task.id)).toEqual([
    ['answer', 'It ', true, false],
    ['answer', 'is done.', false, true],
    ['note', 'a note', true, false],
    ['note', '', false, true],
    ['file', 'whole', true, true],
  ]);
});

it('an artifact keeps the end that its agent marks, and a text that the agent appends', async () => {
  await open(async (run) => {
    await run.append({ type: 'text-delta', artifactId: 'answer', text: 'whole', replace: true });
    run.emit({ type: 'text-delta', artifactId: 'last', text: 'one', replace: true, lastChunk: true });
    const piece = { type: 'artifact', artifact: { id: 'file', parts: [textPart('one')] } } as const;
    run.emit({ ...piece, append: false, lastChunk: false });
    run.emit({ ...piece, append: true, lastChunk: true });
    return { state: 'completed' };
  });
  const { task } = await journal.submit(message('go'));
  expect(await artifactsOf(task.id)).toEqual([
    ['answer', 'whole', true, false],
    ['last', 'one', true, true],
    ['file', 'one', true, false],
    ['file', 'one', false, true],
  ]);
});

it('a run after a question continues the artifact of the run before it', async () => {
  await open(async (run) => {
    run.emit({ type: 'text-delta', artifactId: 'answer', text: `<${run.attempt}>`, replace: false });
    return run.attempt === 1 ? { state: 'input-required', text: 'more?' } : { state: 'completed' };
  });
  const { task } = await journal.submit(message('go'));
  await closed(task.id, 1);
  await journal.submit({ ...message('yes'), taskId: task.id });
  expect(await artifactsOf(task.id, 2)).toEqual([
    ['answer', '<1>', true, false],
    ['answer', '<2>', false, true],
  ]);
});
