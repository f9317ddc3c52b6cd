import { expect, it } from '@jest/globals';
import { partOf, type Origin } from '../../src/core/origin.js';
import { noScrubber } from '../../src/core/secrets.js';
import type { EventBody, NewEvent } from '../../src/core/task.js';
import { NO_USAGE } from '../../src/core/model.js';
import { EventWriter } from '../../src/journal/event-writer.js';
import { compileScrubber } from '../../src/scrub/scrubber.js';

const ROUNDS = 1_000;
/** Whole characters, and halves of them. */
const SIGNS = ['a', 'a', 'b', 'c', '\u{1f600}', '\ud83d', '\ude00', '\ud83d', '\ude00'];
const ENTRIES = 12;
const KINDS = [{ lastChunk: false }, { lastChunk: false }, { isMessage: true }, {}] as const;

let seed = 1;
/** Mulberry32. */
function random(below: number): number {
  seed = (seed + 0x6d2b79f5) | 0;
  let bits = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
  return Math.floor((((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32) * below);
}
const isOneOf = (count: number): boolean => random(count) === 0;

type Said = Extract<EventBody, { type: 'text-delta' }> & { readonly waits: boolean };

/** The events of a relay about entries of another task: some left out, some two in one, parts, some without an origin. */
function sayingsOf(textAt: (from: Origin) => string): readonly Said[] {
  const said: Said[] = [];
  const kind = KINDS[random(KINDS.length)]!;
  for (let first = 0; first < ENTRIES; first += 1) {
    if (isOneOf(5)) continue;
    const last = Math.min(ENTRIES - 1, first + (isOneOf(4) ? 1 : 0));
    const from: Origin = ['below', first, last];
    first = last;
    const text = textAt(from);
    const { length } = text;
    const middle = isOneOf(3) ? 1 + random(length) : length;
    for (const [begin, end] of [
      [0, middle],
      [middle, length],
    ] as const) {
      if (begin >= end) continue;
      const part = begin === 0 && end === length ? from : partOf(from, { begin, end, length });
      const origin = part && !isOneOf(8) ? { from: part } : {};
      const body = {
        type: 'text-delta',
        artifactId: 'x',
        text: text.slice(begin, end),
        replace: isOneOf(12),
      } as const;
      said.push({ ...body, ...kind, ...origin, waits: isOneOf(3) });
    }
  }
  return said;
}

it('whatever a run repeats, it writes what it would write anyway, and names only entries with that text', async () => {
  const scrubber = compileScrubber([{ value: 'abcab', mask: '[secret]' }]);
  let named = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const texts = Array.from({ length: ENTRIES }, () =>
      Array.from({ length: 1 + random(5) }, () => SIGNS[random(SIGNS.length)]!).join(''),
    );
    const textAt = ([, first, last, begin, end]: Origin): string => {
      const part = (text: string, at: number) =>
        text.slice(at === first ? begin : 0, at === last ? end : undefined);
      return texts.map((text, at) => (at < first || at > last ? '' : part(text, at))).join('');
    };
    const said = sayingsOf(textAt);
    const write = async (isNamed: boolean): Promise<readonly EventBody[]> => {
      const written: NewEvent[] = [];
      const writer = new EventWriter({
        append: async (events) => written.push(...events),
        ...{
          scrubber: isOneOf(2) ? scrubber : noScrubber,
          limit: 1_000,
          head: 0,
          artifacts: new Set<string>(),
        },
        ...{
          onAppended: () => {},
          onLiveText: () => {},
          onFailure: (error) => expect(error).toBeUndefined(),
        },
      });
      for (const { waits, from, ...body } of said) {
        writer.emit({ author: 'a', body: isNamed && from ? { ...body, from } : body });
        if (waits) await writer.append({ author: 'a', body: { type: 'turn-start', step: 't' } });
      }
      await writer.append({ author: 'a', body: { type: 'run-end', state: 'completed', usage: NO_USAGE } });
      return written.map(({ body }) => body);
    };
    const before = seed;
    const plain = await write(false);
    seed = before;
    const written = await write(true);
    expect(written.map((body) => ({ ...body, from: undefined }))).toEqual(
      plain.map((body) => ({ ...body, from: undefined })),
    );
    for (const body of written) {
      if (body.type !== 'text-delta' || !body.from) continue;
      named += 1;
      expect({ round, text: body.text }).toEqual({ round, text: textAt(body.from) });
    }
  }
  expect(named).toBeGreaterThan(ROUNDS);
});
