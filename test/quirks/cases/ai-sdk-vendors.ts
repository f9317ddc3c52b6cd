import { expect } from '@jest/globals';
import { z } from 'zod';
import { defineAgent } from '../../../src/index.js';
import type { RecordedRequest } from '../../support/scripted-server.js';
import { askPackage, PNG, type PackageAsking, type PackageTold } from '../package-stage.js';
import { PACKAGE_VENDORS, SEALS, THOUGHTS, type PackageVendor } from '../package-vendors.js';
import type { Quirk } from '../quirk.js';

type Ask = (asking: Omit<PackageAsking, 'vendor'>) => Promise<PackageTold>;

interface Topic {
  readonly id: string;
  readonly class: number;
  readonly quirk: string;
  readonly right: string;
  readonly only?: (vendor: PackageVendor) => boolean;
  check(vendor: PackageVendor, ask: Ask): Promise<void>;
}

const WRITE = { name: 'fs_write', arguments: { path: 'a.txt', content: 'one' } };
const LIST = { name: 'fs_list', arguments: { path: '.' } };
const HASH = { name: 'crypto_hash', arguments: { text: 'abc' } };

/** The text that the person has seen at the end. */
function said({ outcome }: PackageTold): string {
  let text = '';
  for (const event of outcome.events) {
    if (event.type === 'text-delta') text = event.replace ? event.text : text + event.text;
  }
  return text;
}

const weigher = defineAgent({
  name: 'weigher',
  description: 'Weighs things.',
  instruction: 'Say what a thing weighs.',
  output: z.object({ grams: z.number() }),
});

/** The habits of each of these vendors in its own format, through its own package. */
const TOPICS: readonly Topic[] = [
  {
    id: 'text',
    class: 19,
    quirk: 'The vendor streams a text in small pieces of a format of its own.',
    right: 'The text reaches the person as it arrives, and the tokens are counted.',
    async check(_, ask) {
      const text = 'The quick brown fox jumps over the lazy dog, again and again. Grüße, 你好 🎉.';
      const told = await ask({ answers: [{ text }] });
      expect([told.refused, told.state, told.text]).toEqual([[], 'completed', text]);
      const deltas = told.outcome.events.filter(({ type }) => type === 'text-delta');
      expect(deltas.length).toBeGreaterThan(0);
      expect(told.outcome.end.usage).toMatchObject({ input: 10, output: 5 });
    },
  },
  {
    id: 'tagged-thoughts',
    class: 13,
    quirk: 'The text of the answer begins with thoughts in tags.',
    right: 'The thoughts are neither shown nor sent back as text.',
    async check(_, ask) {
      const thinking = { text: '<think>SECRET</think>\n\nI look.', calls: [LIST] };
      const told = await ask({ answers: [thinking, { text: 'SECRET\n</think>\n\nDone.' }] });
      expect([told.refused, told.state, said(told)]).toEqual([[], 'completed', 'Done.']);
      expect(JSON.stringify(told.bodies[1])).not.toMatch(/SECRET|think>/);
    },
  },
  {
    id: 'limit',
    class: 19,
    quirk: 'The vendor names the longest output in its own way.',
    right: 'The limit of the agent is sent.',
    async check(vendor, ask) {
      const { bodies } = await ask({ answers: [{ text: 'yes' }] });
      expect(vendor.limitOf(bodies[0]!)).toEqual(expect.any(Number));
      expect(vendor.limitOf(bodies[0]!)).toBeGreaterThan(1_000);
    },
  },
  {
    id: 'call',
    class: 19,
    quirk: 'The vendor refuses a result that does not answer its call in the form of its API.',
    right: 'A call is made, and its result is accepted.',
    async check(vendor, ask) {
      const told = await ask({
        answers: [{ text: 'I look.', calls: [WRITE] }, { calls: [LIST] }, { text: 'done' }],
      });
      expect([told.refused, told.state, told.text]).toEqual([[], 'completed', 'done']);
      expect(vendor.results(told.bodies[2]!)).toEqual([expect.any(String), expect.stringContaining('a.txt')]);
    },
  },
  {
    id: 'parallel',
    class: 19,
    quirk: 'The vendor refuses an answer of which one call has no result.',
    right: 'The results of parallel calls go back together, in the order of the calls.',
    async check(vendor, ask) {
      const told = await ask({ answers: [{ calls: [HASH, LIST, HASH] }, { text: 'done' }] });
      expect([told.refused, told.state]).toEqual([[], 'completed']);
      const results = vendor.results(told.bodies[1]!);
      expect(results).toHaveLength(3);
      expect(results[0]).toContain('ba7816bf');
    },
  },
  {
    id: 'next-message',
    class: 8,
    quirk: 'The vendor checks the whole conversation with each request.',
    right: 'A further message of the person is accepted after calls and results.',
    async check(_, ask) {
      const first = await ask({ answers: [{ thoughts: THOUGHTS, calls: [HASH] }, { text: 'done' }] });
      const told = await ask({
        answers: [{ text: 'and done' }],
        message: 'more',
        contextId: first.contextId,
      });
      expect([first.refused, told.refused, told.text]).toEqual([[], [], 'and done']);
    },
  },
  {
    id: 'thoughts',
    class: 4,
    quirk: 'The vendor wants the thoughts before a call back, with the seal that it gave them.',
    right: 'Thoughts and seal go back unchanged, and are no part of the answer.',
    async check(vendor, ask) {
      const told = await ask({ answers: [{ thoughts: THOUGHTS, calls: [HASH] }, { text: 'done' }] });
      expect([told.refused, told.state, told.text]).toEqual([[], 'completed', 'done']);
      const { text, seal } = vendor.thoughts(told.bodies[1]!);
      expect(seal).toBe(SEALS[vendor.name]);
      expect(text).toBe(vendor.name === 'Azure' ? '' : THOUGHTS);
    },
  },
  {
    id: 'image',
    class: 19,
    quirk: 'The vendor takes images in its own form.',
    right: 'An image of the person reaches the model.',
    async check(vendor, ask) {
      const image = { kind: 'file', mediaType: 'image/png', filename: 'a.png', bytes: PNG } as const;
      const told = await ask({
        answers: [{ text: 'A dot.' }],
        message: [{ kind: 'text', text: 'What is this?' }, image],
      });
      expect([told.refused, told.state]).toEqual([[], 'completed']);
      expect(vendor.images(told.bodies[0]!)).toEqual([PNG]);
    },
  },
  {
    id: 'result-image',
    class: 19,
    quirk: 'The vendor takes no image in the result of a call, or only with some models.',
    right: 'The image follows the results, and reaches the model.',
    async check(vendor, ask) {
      const told = await ask({ answers: [{ calls: [{ name: 'search_photo' }] }, { text: 'A dot.' }] });
      expect([told.refused, told.state]).toEqual([[], 'completed']);
      expect(vendor.images(told.bodies[1]!)).toEqual([PNG]);
      expect(vendor.results(told.bodies[1]!)).toEqual([expect.stringContaining('a photo')]);
    },
  },
  {
    id: 'after-failure',
    class: 3,
    quirk: 'The vendor checks the order of results and messages, also after a task that failed between them.',
    right: 'The next message of the person is accepted.',
    async check(vendor, ask) {
      const down = { status: 503, body: vendor.errorBody(503, 'down') };
      const first = await ask({ answers: [{ thoughts: THOUGHTS, calls: [HASH] }, down] });
      expect(first.state).toBe('failed');
      const told = await ask({
        answers: [{ text: 'here again' }],
        message: 'again',
        contextId: first.contextId,
      });
      expect([told.refused, told.text]).toEqual([[], 'here again']);
      expect(vendor.results(told.bodies[0]!)).toHaveLength(1);
    },
  },
  {
    id: 'data',
    class: 19,
    quirk: 'The vendor takes the schema of an output in its own place.',
    right: 'An agent whose answers are data sends the schema, and its answer is data.',
    async check(vendor, ask) {
      const json = '{"grams":12}';
      const isCalled = vendor.name === 'Groq';
      const answer = isCalled ? { calls: [{ name: 'json', arguments: json }] } : { text: json };
      const told = await ask({ agent: 'weigher', answers: [answer] });
      expect([told.refused, told.state, told.text]).toEqual([[], 'completed', json]);
      expect(vendor.schema(told.bodies[0]!)).toMatchObject({ properties: { grams: { type: 'number' } } });
    },
  },
  {
    id: 'busy',
    class: 16,
    quirk: 'The vendor refuses a request while it is busy (HTTP 429), and the next one not.',
    right: 'The request is repeated as often as `model.maxRetries` says.',
    async check(vendor, ask) {
      const busy = { status: 429, body: vendor.errorBody(429, 'slow down'), headers: { 'retry-after': '0' } };
      const told = await ask({ answers: [busy, { text: 'now' }], model: { maxRetries: 1 } });
      expect([told.state, told.text, told.bodies.length]).toEqual(['completed', 'now', 2]);
      const failed = await ask({ answers: [busy], model: { maxRetries: 1 } });
      expect([failed.state, failed.bodies.length]).toEqual(['failed', 2]);
      expect(failed.text).toContain('slow down');
    },
  },
  {
    id: 'reason',
    class: 15,
    quirk: 'The vendor gives the reason of a refusal in a body of its own form.',
    right: 'The person reads the reason, and the request is not repeated.',
    async check(vendor, ask) {
      const body = vendor.errorBody(400, 'The temperature is out of range');
      const told = await ask({ answers: [{ status: 400, body }] });
      expect([told.state, told.bodies.length]).toEqual(['failed', 1]);
      expect(told.text).toContain('The temperature is out of range');
    },
  },
  {
    id: 'cut-text',
    class: 2,
    quirk: 'The vendor ends an answer at the limit of its length, in its own word.',
    right: 'The text is kept, and marked as cut off.',
    async check(vendor, ask) {
      const told = await ask({ answers: [{ text: 'It begins', stop: vendor.limit }] });
      expect(told.state).toBe('completed');
      expect(told.text).toMatch(/^It begins\s+\[The answer was cut off/);
    },
  },
  {
    id: 'cut-call',
    class: 1,
    quirk: 'The vendor ends an answer at the limit of its length in the middle of a call.',
    right: 'The call is not made, and the model is told why.',
    // Gemini sends calls whole.
    only: ({ name }) => !name.startsWith('Google'),
    async check(vendor, ask) {
      const half = { name: 'fs_write', arguments: '{"path":"half.txt","content":"one t' };
      const told = await ask({
        answers: [{ calls: [half], stop: vendor.limit }, { calls: [LIST] }, { text: 'ok' }],
      });
      expect([told.refused, told.state]).toEqual([[], 'completed']);
      const [cut, list] = vendor.results(told.bodies[2]!);
      expect(cut).toContain('was not made');
      expect(list).not.toContain('half.txt');
    },
  },
  {
    id: 'failed-end',
    class: 2,
    quirk: 'The vendor ends an answer with a word that means a failure, or that is not known.',
    right: 'The answer is no whole answer: the task fails, and its text is kept with a mark.',
    async check(vendor, ask) {
      const told = await ask({ answers: [{ text: 'It begins', stop: vendor.failed }] });
      expect(told.state).toBe('failed');
      expect(said(told)).toMatch(/^It begins\s+\[The answer is incomplete/);
    },
  },
  {
    id: 'broken-stream',
    class: 2,
    quirk: 'The connection ends in the middle of an answer, with and without an error.',
    right: 'No half answer counts as a whole one: the task fails, and its text is kept with a mark.',
    async check(vendor, ask) {
      const whole = vendor.stream({ text: 'It begins and goes on and on and ends here.' });
      const bytes = whole.subarray(0, Math.floor(whole.length / 2));
      for (const then of ['ends', 'breaks'] as const) {
        const told = await ask({ answers: [{ bytes, then }] });
        expect([then, told.state]).toEqual([then, 'failed']);
        expect(said(told)).toMatch(/^It begins.*\s+\[The answer is incomplete/);
      }
    },
  },
  {
    id: 'cancel',
    class: 19,
    quirk: 'The vendor goes on writing, and charges for it, until its connection is closed.',
    right: 'A cancelled task closes the request at once.',
    async check(vendor, ask) {
      const bytes = vendor.stream({ text: 'It begins and goes on.' }).subarray(0, 40);
      let abandoned: Promise<void> | undefined;
      const onRequest: PackageAsking['onRequest'] = (request: RecordedRequest, { client }) => {
        ({ abandoned } = request);
        void (async () => {
          const { tasks } = await client.list({});
          await client.cancel({ taskId: tasks[0]!.id });
        })();
      };
      const told = await ask({ answers: [{ bytes, then: 'hangs' }], onRequest });
      expect(told.state).toBe('canceled');
      await abandoned;
    },
  },
];

export const AI_SDK_VENDORS: readonly Quirk[] = PACKAGE_VENDORS.flatMap((vendor) =>
  TOPICS.filter(({ only }) => only?.(vendor) ?? true).map((topic) => ({
    ...{ class: topic.class, wire: 'AI SDK' as const, vendor: vendor.name, source: vendor.page },
    id: `ai-sdk-${topic.id}-${vendor.id}`,
    ...{ quirk: topic.quirk, right: topic.right },
    check: () => topic.check(vendor, (asking) => askPackage({ vendor, agents: [weigher], ...asking })),
  })),
);
