import { expect, it } from '@jest/globals';
import type { EventBody, NewEvent } from '../../src/core/task.js';
import { EventWriter } from '../../src/journal/event-writer.js';
import { compileScrubber } from '../../src/scrub/scrubber.js';

const VALUE = 'hunter2-swordfish';
const MASK = '{{secret:mail}}';
const scrubber = compileScrubber([{ value: VALUE, mask: MASK }]);

it('the pieces of a text that goes on are scrubbed as one, when they are shown and before what follows them', async () => {
  let pieces = 0;
  const counting = {
    ...scrubber,
    stream() {
      const stream = scrubber.stream();
      return {
        push(piece: string) {
          pieces += 1;
          return stream.push(piece);
        },
        end: () => stream.end(),
      };
    },
  };
  const written: EventBody[] = [];
  const append = async (events: readonly NewEvent[]) => written.push(...events.map(({ body }) => body));
  let wakings = 0;
  const writer = new EventWriter({
    ...{ append, scrubber: counting, limit: 1_000, head: 0, artifacts: new Set<string>() },
    ...{ onAppended: () => {}, onFailure: () => {}, onLiveText: () => (wakings += 1) },
  });
  const say = (text: string, replace = false) =>
    writer.emit({ author: 'a', body: { type: 'text-delta', artifactId: 'answer', text, replace } });
  say('It is ', true);
  await writer.settle();
  const typed = `so ${VALUE} and ${VALUE}! `;
  for (const sign of typed) say(sign);
  expect([pieces, wakings]).toEqual([2, 2]);
  const shown = writer.liveText(1).map(({ body }) => body.text);
  expect([shown.join(''), pieces]).toEqual([`so ${MASK} and ${MASK}! `, 3]);
  for (const sign of typed) say(sign);
  await writer.append({ author: 'a', body: { type: 'turn-start', step: 't' } });
  expect(pieces).toBe(4);
  for (const sign of 'on and on') say(sign);
  await writer.settle();
  const told = written.map((body) => (body.type === 'text-delta' ? body.text : body.type));
  expect(told).toEqual(['It is ', `so ${MASK} and ${MASK}! `.repeat(2), 'turn-start', 'on and on']);
});
