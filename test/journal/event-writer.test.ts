import { afterEach, expect, it } from '@jest/globals';
import { textOf, textPart } from '../../src/core/message.js';
import { joinOrigins, type Origin } from '../../src/core/origin.js';
import type { EventBody } from '../../src/core/task.js';
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

it('a text is written whole before the call of its agent, although its end may begin a secret', async () => {
  await open(
    async (run) => {
      const say = (text: string, replace: boolean) =>
        run.emit({ type: 'text-delta', artifactId: 'answer', text, replace }, 'operator');
      const call = { type: 'tool-call', tool: 'look', arguments: {} } as const;
      say('I look for the h', true);
      run.emit({ type: 'activity', activity: call }, 'operator');
      say('It is done.', true);
      return { state: 'completed' };
    },
    { secrets: { scrubber: () => scrubber } },
  );
  const { task } = await journal.submit(message('go'));
  await closed(task.id, 1);
  const told = (await store.read(task.id, 0, 100)).flatMap(({ body }) => {
    if (body.type === 'text-delta') return [body.text];
    return body.type === 'activity' ? [body.activity.type] : [];
  });
  const at = told.indexOf('tool-call');
  expect([told.slice(0, at).join(''), told.slice(at + 1).join('')]).toEqual([
    'I look for the h',
    'It is done.',
  ]);
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

/** A text that is longer than its reference is not copied. */
const LONG = ' and so on'.repeat(12);

/** The texts of entries of other tasks. */
const ENTRIES: Readonly<Record<string, string>> = {
  ...{ 'below 3': `one${LONG}`, 'below 4': 'tw', 'below 5': `o${LONG}!`, 'below 7': `three${LONG}\u{1f600}` },
  'below 8': `eight${LONG}`,
  ...{ 'other 8': 'a', 'other 9': `four${LONG} five${LONG}`, 'other 10': `\u{1f601}six${LONG}` },
};

/** Reads the text that an origin names, as the store does. */
function textAt([task, first, last, begin, end]: Origin): string {
  const seqs = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  return seqs
    .map((seq) => ENTRIES[`${task} ${seq}`]!.slice(seq === first ? begin : 0, seq === last ? end : undefined))
    .join('');
}

/** The texts of a run that says what the origins name, with and without naming them. */
async function relayed(origins: readonly Origin[]): Promise<readonly (readonly EventBody[])[]> {
  await open(async (run) => {
    const isNamed = textOf(run.inputs[0]!.message.parts) === 'named';
    for (const from of origins) {
      const text = textAt(from);
      const body = {
        type: 'text-delta',
        artifactId: 'answer',
        text,
        replace: false,
        lastChunk: false,
      } as const;
      run.emit(isNamed ? { ...body, from } : body);
    }
    return { state: 'completed' };
  });
  const written: (readonly EventBody[])[] = [];
  for (const text of ['named', 'plain']) {
    const { task } = await journal.submit(message(text));
    const bodies = (await ended(task.id)).map(({ body }) => body);
    written.push(bodies.filter(({ type }) => type === 'text-delta'));
  }
  return written;
}

it.each<readonly [what: string, origins: readonly Origin[], named: readonly (Origin | undefined)[]]>([
  ['one entry', [['below', 3, 3]], [['below', 3, 3]]],
  [
    'entries that follow each other',
    [
      ['below', 3, 3],
      ['below', 4, 5],
    ],
    [['below', 3, 5]],
  ],
  [
    'a gap',
    [
      ['below', 5, 5],
      ['below', 7, 7],
    ],
    [undefined],
  ],
  [
    'another task',
    [
      ['below', 8, 8],
      ['other', 9, 9],
    ],
    [undefined],
  ],
  [
    'parts of an entry, and the next entry',
    [
      ['other', 8, 8],
      ['other', 9, 9, 0, 124],
      ['other', 9, 9, 124],
      ['other', 10, 10],
    ],
    [['other', 8, 10]],
  ],
  [
    'parts that do not follow each other',
    [
      ['other', 9, 9, 0, 120],
      ['other', 9, 9, 124],
    ],
    [undefined],
  ],
])(
  'a run that repeats %s writes what it would write anyway, and names the entries it can',
  async (_, origins, named) => {
    const [written = [], plain] = await relayed(origins);
    expect(written.map((body) => ({ ...body, from: undefined }))).toEqual(plain);
    const found = written.map((body) => ('from' in body ? body.from : undefined));
    for (const [index, from] of found.entries())
      if (from) expect(written[index]).toMatchObject({ text: textAt(from) });
    const joined = found.reduce((all, from) => (all === undefined ? undefined : joinOrigins(all, from)));
    expect([joined]).toEqual(named);
  },
);

it('a run keeps a copy of its own of what it removes a secret from, in place of the entry of another task', async () => {
  await open(
    async (run) => {
      const repeat = (said: string, seq: number): void => {
        const body = { type: 'text-delta', artifactId: 'answer', replace: false, isMessage: true } as const;
        run.emit({ ...body, text: said, from: ['below', seq, seq] });
      };
      const say = (text: string, seq: number): void =>
        run.emit({
          type: 'activity',
          activity: { type: 'text', text: text + LONG },
          from: ['below', seq, seq],
        });
      const deliver = (id: string, text: string, seq: number): void => {
        const artifact = { id, parts: [textPart(text + LONG)] };
        run.emit({ type: 'artifact', artifact, append: false, from: ['below', seq, seq] });
      };
      repeat(`it is ${VALUE}.${LONG}`, 3);
      say('nothing', 4);
      repeat(`${LONG}or hunter2-`, 5);
      repeat(`swordfish!${LONG}`, 6);
      say(`signing in with ${VALUE}`, 7);
      repeat(`no more${LONG}`, 8);
      deliver('a', VALUE, 9);
      deliver('b', 'nothing', 10);
      return { state: 'completed' };
    },
    { secrets: { scrubber: () => scrubber } },
  );
  const { task } = await journal.submit(message('go'));
  const said = (text: string) => text.replaceAll(LONG, '…');
  const written = (await ended(task.id)).flatMap(({ body }) => {
    if (body.type === 'text-delta') return [[said(body.text), body.from]];
    if (body.type === 'artifact') return [[said(textOf(body.artifact.parts)), body.from]];
    return body.type === 'activity' && 'text' in body.activity ? [[said(body.activity.text), body.from]] : [];
  });
  expect(written).toEqual([
    [`it is ${MASK}.…`, undefined],
    ['nothing…', ['below', 4, 4]],
    [`…or ${MASK}!…`, undefined],
    [`signing in with ${MASK}…`, undefined],
    ['no more…', ['below', 8, 8]],
    [`${MASK}…`, undefined],
    ['nothing…', ['below', 10, 10]],
  ]);
});
