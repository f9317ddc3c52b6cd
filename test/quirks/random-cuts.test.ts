import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Reply } from '../support/scripted-server.js';
import { answerIn, ask, closeStage, type Told } from './strict-vendor.js';
import { MODEL_WIRES, streamOf, type ModelWireName, type VendorAnswer } from './vendor-streams.js';

/**
 * Streams of all wires that end anywhere: no call is made of an output that was cut, and no half of a text is shown without
 * a mark. `npm run campaigns` runs many more.
 */

const RUNS = process.env.LANGO_CAMPAIGN === '1' ? 1_000 : 20;

afterAll(closeStage);

/** The event that ends a whole output of each wire, with its line end. */
const END: Readonly<Record<ModelWireName, RegExp>> = {
  'Chat Completions': /data: [^\n]*"finish_reason":"[^\n]*\n/,
  Responses: /data: [^\n]*"type":"response\.(completed|incomplete)"[^\n]*\n/,
  Messages: /data: [^\n]*"type":"message_delta"[^\n]*\n/,
};
const LIMIT = {
  'Chat Completions': 'length',
  Responses: 'max_output_tokens',
  Messages: 'max_tokens',
} as const;

const MARK = /\n\n\[The answer is incomplete: [^\]]+\]$/;

interface Cut {
  readonly text: string;
  readonly calls: readonly string[];
  readonly isLimited: boolean;
  /** The end of the stream and the place where its bytes are split in two, as parts of its length. */
  readonly at: number;
  readonly split: number;
  readonly breaks: boolean;
}

const cuts = fc.record<Cut>({
  text: fc.constantFrom('', 'Short.', 'A text with some words, then a line\nand 👩‍👩‍👧 naïve 日本 characters.'),
  calls: fc.array(fc.constantFrom('a', 'a longer text to hash'), { maxLength: 3 }),
  isLimited: fc.boolean(),
  // Half of the streams are cut near their ends.
  at: fc.oneof(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0.85, max: 1, noNaN: true })),
  split: fc.double({ min: 0, max: 1, noNaN: true }),
  breaks: fc.boolean(),
});

function streamFor(wire: ModelWireName, { text, calls, isLimited }: Cut): string {
  const answer: VendorAnswer = {
    ...((text !== '' || calls.length === 0) && { text }),
    calls: calls.map((hashed, at) => ({
      name: 'crypto_hash',
      arguments: { text: hashed },
      isOpen: isLimited && at === calls.length - 1,
    })),
    ...(isLimited && { stop: LIMIT[wire] }),
  };
  return streamOf(wire, answer);
}

/** Sends the bytes in two pieces, and then ends the response or breaks the connection. */
function reply(bytes: Buffer, { split, breaks }: Cut): Reply {
  return async (response) => {
    const middle = Math.floor(bytes.length * split);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.flushHeaders();
    response.write(bytes.subarray(0, middle));
    await nextTurn();
    if (!breaks) response.end(bytes.subarray(middle));
    else response.write(bytes.subarray(middle), () => response.destroy());
  };
}

/** The calls of the first output that were made. */
const made = (told: Told): number => told.results.filter((result) => /[0-9a-f]{64}/.test(result)).length;

async function check(wire: ModelWireName, cut: Cut): Promise<void> {
  const bytes = Buffer.from(streamFor(wire, cut));
  const sent = bytes.subarray(0, Math.floor(bytes.length * cut.at));
  const told = await ask({
    wire,
    answers: ({ n }) => (n === 0 ? reply(sent, cut) : { text: 'Done.' }),
  });
  const shown = await answerIn(told);
  expect(told.refused).toEqual([]);
  // The last event counts without its empty line only when the response ends by itself.
  const end = cut.breaks ? new RegExp(`${END[wire].source}\n`) : END[wire];
  if (!end.test(sent.toString())) {
    expect([told.state, told.requests.length, made(told)]).toEqual(['failed', 1, 0]);
    if (shown !== '')
      expect([MARK.test(shown), cut.text.startsWith(shown.replace(MARK, ''))]).toEqual([true, true]);
    return;
  }
  if (cut.calls.length > 0) {
    expect([told.state, shown]).toEqual(['completed', 'Done.']);
    expect(made(told)).toBe(cut.calls.length - (cut.isLimited ? 1 : 0));
  } else if (cut.isLimited && cut.text !== '') {
    expect([told.state, shown.startsWith(`${cut.text}\n\n[The answer was cut off`)]).toEqual([
      'completed',
      true,
    ]);
  } else {
    const state = cut.isLimited ? 'failed' : 'completed';
    expect([told.state, shown]).toEqual([state, cut.isLimited ? '' : cut.text || 'Done.']);
  }
}

describe('a stream that ends anywhere', () => {
  it.each(MODEL_WIRES)('makes no cut call and shows no half text without a mark: %s', async (wire) => {
    await fc.assert(
      fc.asyncProperty(cuts, (cut) => check(wire, cut)),
      { numRuns: RUNS },
    );
  });
});
