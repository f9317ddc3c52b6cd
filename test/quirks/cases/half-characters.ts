import { expect } from '@jest/globals';
import { textPart, type Part } from '../../../src/core/message.js';
import type { Quirk } from '../quirk.js';
import { ask } from '../strict-vendor.js';
import { MODEL_WIRES, streamOf, type VendorAnswer } from '../vendor-streams.js';

const HALF = '\uD83D';
const LISTED = { calls: [{ name: 'fs_list' }] };

interface Row {
  readonly name: string;
  readonly quirk: string;
  readonly message?: string | readonly Part[];
  readonly first?: VendorAnswer;
  /** The text of the next request in its place. */
  readonly sent: RegExp;
}

const ROWS: readonly Row[] = [
  {
    name: 'message',
    quirk: 'A client cut the text of a person in the middle of an emoji.',
    message: `so${HALF}`,
    sent: /so\uFFFD/,
  },
  {
    name: 'data',
    quirk: 'A data part holds half an emoji in a name and in a value.',
    message: [textPart('see'), { kind: 'data', data: { [`k${HALF}`]: `v${HALF}` } }],
    sent: /k\uFFFD\\?\\?":\\?\\?"v\uFFFD/,
  },
  {
    name: 'answer',
    quirk: 'A model ends its text with half an emoji before a call.',
    first: { text: `I look ${HALF}`, ...LISTED },
    sent: /I look \uFFFD/,
  },
  {
    name: 'arguments',
    quirk: 'The arguments of a call hold half an emoji.',
    first: { calls: [{ name: 'crypto_hash', arguments: { text: `t${HALF}` } }] },
    sent: /t\uFFFD/,
  },
  {
    name: 'thoughts',
    quirk: 'The thoughts of a model hold half an emoji.',
    first: { thoughts: `so${HALF}`, ...LISTED },
    sent: /fs_list/,
  },
];

/** Half of a surrogate pair is no character, and vendors refuse a request that holds one for ever after. */
export const HALF_CHARACTERS: readonly Quirk[] = MODEL_WIRES.flatMap((wire) => [
  ...ROWS.map(({ name, quirk, message = 'hello', first = LISTED, sent }): Quirk => ({
    id: `half-${name}-${wire}`,
    class: 3,
    wire,
    vendor: 'All vendors',
    source: 'vellum-ai/vellum-assistant#38280',
    quirk,
    right: 'The half goes out as U+FFFD, and the conversation goes on, in this task and in the next one.',
    async check() {
      const asked = await ask({ wire, message, answers: [first, { text: 'Done.' }] });
      const next = await ask({ wire, contextId: asked.contextId, answers: [{ text: 'Again.' }] });
      expect([asked.refused, next.refused]).toEqual([[], []]);
      expect([asked.state, next.state]).toEqual(['completed', 'completed']);
      expect(JSON.stringify(asked.requests.at(-1)!.body)).toMatch(sent);
      expect(JSON.stringify(next.requests.at(-1)!.body)).toMatch(sent);
    },
  })),
  {
    id: `half-deltas-${wire}`,
    class: 3,
    wire,
    vendor: 'Servers that cut by UTF-16 units',
    source: 'The class of split characters in streams',
    quirk: 'The two halves of an emoji come in two events.',
    right: 'They are one character for the person, in the answer and in later requests.',
    async check() {
      // A delta has 20 characters.
      const begin = 'x'.repeat(19);
      const stream = streamOf(wire, { text: `${begin}AZ` })
        .replace(`${begin}A`, `${begin}\\ud83d`)
        .replace('"Z"', '"\\ude00Z"');
      expect(stream).toMatch(/x\\ud83d".*"\\ude00Z"/s);
      const asked = await ask({ wire, answers: [{ stream }] });
      expect(asked.text).toBe(`${begin}😀Z`);
    },
  },
]);
