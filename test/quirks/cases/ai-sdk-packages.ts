import { expect } from '@jest/globals';
import { listIn, objectIn, type JsonObject } from '../../../src/core/json.js';
import { askPackage } from '../package-stage.js';
import {
  azure,
  bedrock,
  compatible,
  frame,
  google,
  mistral,
  sse,
  THOUGHTS,
  type PackageVendor,
} from '../package-vendors.js';
import type { Quirk } from '../quirk.js';

const HASH = { name: 'crypto_hash', arguments: { text: 'abc' } };

interface Case extends Omit<Quirk, 'wire' | 'vendor' | 'source' | 'check'> {
  readonly of: PackageVendor;
  check(vendor: PackageVendor): Promise<void>;
}

const objects = (value: unknown): readonly JsonObject[] => listIn(value).map(objectIn);

/** An error in the middle of a stream, in the form of each vendor. */
const ERRORS: readonly (readonly [PackageVendor, string, Buffer])[] = [
  [
    google,
    'UNAVAILABLE',
    sse([{ error: { code: 503, message: 'The model is busy', status: 'UNAVAILABLE' } }]),
  ],
  [bedrock, 'throttlingException', frame('throttlingException', { message: 'The model is busy' })],
  [compatible, 'error', sse([{ error: { message: 'The model is busy', type: 'server_error', code: null } }])],
  [
    azure,
    'error',
    sse([
      {
        type: 'error',
        sequence_number: 1,
        error: { type: 'server_error', code: 'server_error', message: 'The model is busy', param: null },
      },
    ]),
  ],
];

const CASES: readonly Case[] = [
  ...ERRORS.map(([of, word, error]) => ({
    ...{ of, id: `ai-sdk-error-in-stream-${of.id}`, class: 15 },
    quirk: `The vendor reports a failure inside a stream that began well (${word}).`,
    right: 'The person reads the reason, and the failure counts as an overload, not as an answer.',
    async check(vendor: PackageVendor) {
      const told = await askPackage({ vendor, answers: [{ bytes: error, then: 'ends' }] });
      expect(told.state).toBe('failed');
      expect(told.text).toContain('The model is busy');
      expect(told.text).toMatch(/cannot respond right now|limits the rate/);
    },
  })),
  {
    ...{ of: mistral, id: 'ai-sdk-open-connection', class: 2 },
    quirk: 'A server leaves the connection open after its last event, for which packages wait.',
    right: 'The answer ends a second after its last event.',
    async check(vendor) {
      const told = await askPackage({
        vendor,
        model: { timeoutSeconds: 5 },
        answers: [{ bytes: vendor.stream({ text: 'whole' }), then: 'hangs' }],
      });
      expect([told.state, told.text]).toEqual(['completed', 'whole']);
    },
  },
  {
    ...{ of: bedrock, id: 'ai-sdk-cache-marks', class: 19 },
    quirk: 'Bedrock caches the beginning of a request only up to a mark, and takes four marks.',
    right: 'The stable part of the instruction and the last two messages of the person are marked.',
    async check(vendor) {
      const told = await askPackage({
        vendor,
        answers: [{ calls: [HASH] }, { calls: [HASH] }, { text: 'done' }],
      });
      expect(told.refused).toEqual([]);
      const { system, messages } = told.bodies[2]!;
      const marked = objects(messages).map(({ content }) => 'cachePoint' in objects(content).at(-1)!);
      expect(marked).toEqual([false, false, true, false, true]);
      expect(objects(system).filter((block) => 'cachePoint' in block)).toHaveLength(1);
    },
  },
  {
    ...{ of: bedrock, id: 'ai-sdk-no-cache-marks', class: 19 },
    quirk: 'Bedrock refuses the mark of a cache for models that have none.',
    right: 'Only models of Anthropic and Amazon get marks.',
    async check(vendor) {
      const name = 'meta.llama3-3-70b-instruct-v1:0';
      const other = { ...vendor, path: /^\/model\/meta/ };
      const told = await askPackage({ vendor: other, model: { name }, answers: [{ text: 'yes' }] });
      expect([told.refused, told.text]).toEqual([[], 'yes']);
      expect(JSON.stringify(told.bodies[0])).not.toContain('cachePoint');
    },
  },
  {
    ...{ of: azure, id: 'ai-sdk-store', class: 8 },
    quirk: 'The Responses API stores outputs, and its package then sends references in place of calls.',
    right: 'Nothing is stored, and calls and thoughts go back whole.',
    async check(vendor) {
      const told = await askPackage({
        vendor,
        answers: [{ thoughts: THOUGHTS, calls: [HASH] }, { text: 'done' }],
      });
      expect(told.refused).toEqual([]);
      expect(told.bodies.map(({ store }) => store)).toEqual([false, false]);
      expect(objects(told.bodies[1]!.input).map(({ type }) => type)).not.toContain('item_reference');
    },
  },
  {
    ...{ of: azure, id: 'ai-sdk-unsealed-thoughts', class: 4 },
    quirk: 'The Responses API refuses thoughts without their encrypted content, which it did not store.',
    right: 'Thoughts without encrypted content are not sent back.',
    async check(vendor) {
      const stream: PackageVendor['stream'] = (answer) =>
        Buffer.from(vendor.stream(answer).toString().replaceAll('"ENCRYPTED"', 'null'));
      const rules = [
        ...vendor.rules,
        ({ input }: JsonObject) =>
          objects(input).some((item) => item.type === 'reasoning' && !item.encrypted_content)
            ? "Item 'rs_1' not found. Items are not persisted when `store` is set to false."
            : undefined,
      ];
      const answers = [{ thoughts: THOUGHTS, calls: [HASH] }, { text: 'done' }];
      const told = await askPackage({ vendor: { ...vendor, stream, rules }, answers });
      expect([told.refused, told.text]).toEqual([[], 'done']);
    },
  },
  {
    ...{ of: google, id: 'ai-sdk-next-vendor', class: 4 },
    quirk: 'A vendor refuses the seals and thoughts of another one.',
    right: 'A fallback of another package goes on with the task, and gets nothing of them.',
    async check(vendor) {
      const isGoogle = (body: JsonObject): boolean => 'contents' in body;
      const both: PackageVendor = {
        ...vendor,
        settings: (url) => ({
          ...vendor.settings(url),
          fallbacks: [mistral.settings(url) as never],
        }),
        path: /streamGenerateContent|chat\/completions/,
        key: (headers) => (headers['x-goog-api-key'] ? vendor.key(headers) : mistral.key(headers)),
        rules: [
          (body) =>
            (isGoogle(body) ? vendor : mistral).rules
              .map((rule) => rule(body))
              .find((found) => found !== undefined),
        ],
      };
      const down = { status: 503, body: vendor.errorBody(503, 'down') };
      const last = { bytes: mistral.stream({ text: 'done' }), then: 'ends' } as const;
      const told = await askPackage({
        vendor: both,
        answers: [{ thoughts: THOUGHTS, calls: [HASH] }, down, last],
      });
      expect([told.refused, told.state, told.text]).toEqual([[], 'completed', 'done']);
      expect(JSON.stringify(told.bodies[2])).not.toContain(THOUGHTS);
    },
  },
  {
    ...{ of: google, id: 'ai-sdk-call-options', class: 19 },
    quirk: 'Each vendor has options of its own for a call.',
    right: '`providerOptions` and `effort` of the model reach the vendor.',
    async check(vendor) {
      const options = { google: { thinkingConfig: { includeThoughts: true } } };
      const told = await askPackage({
        vendor,
        model: { providerOptions: options, effort: 'low' },
        answers: [{ text: 'yes' }],
      });
      const { thinkingConfig } = objectIn(told.bodies[0]!.generationConfig);
      expect(thinkingConfig).toEqual({ includeThoughts: true, thinkingLevel: 'low' });
    },
  },
  {
    ...{ of: compatible, id: 'ai-sdk-usage', class: 19 },
    quirk: 'Servers of Chat Completions report the tokens of a stream only when they are asked to.',
    right: 'The package asks for them without further settings.',
    async check(vendor) {
      const told = await askPackage({ vendor, answers: [{ text: 'yes' }] });
      expect(told.bodies[0]!.stream_options).toEqual({ include_usage: true });
    },
  },
  {
    ...{ of: compatible, id: 'ai-sdk-tags', class: 13 },
    quirk: 'A server of a reasoning model leaves the thoughts in the text, in tags.',
    right: 'The thoughts are split off, and no part of the answer.',
    async check(vendor) {
      const told = await askPackage({
        vendor,
        answers: [{ text: '<think>\nHm, hello.\n</think>\n\nHello.' }],
      });
      expect([told.state, told.text]).toEqual(['completed', 'Hello.']);
    },
  },
  {
    ...{ of: compatible, id: 'ai-sdk-foreign-event', class: 2 },
    quirk: 'A gateway puts pings into the stream that its package takes for broken chunks.',
    right: 'An event without a part of an answer is skipped.',
    async check(vendor) {
      const bytes = Buffer.concat([sse([{ type: 'ping' }]), vendor.stream({ text: 'whole' })]);
      const told = await askPackage({ vendor, answers: [{ bytes, then: 'ends' }] });
      expect([told.state, told.text]).toEqual(['completed', 'whole']);
    },
  },
];

const SOURCES: Readonly<Record<string, string>> = {
  'ai-sdk-open-connection': 'The stream parsers of the packages (@ai-sdk/provider-utils)',
  'ai-sdk-foreign-event': 'The stream parsers of the packages (@ai-sdk/provider-utils)',
};

export const AI_SDK_PACKAGES: readonly Quirk[] = CASES.map((one) => ({
  ...{ id: one.id, class: one.class, wire: 'AI SDK', vendor: one.of.name },
  ...{ source: SOURCES[one.id] ?? one.of.page, quirk: one.quirk, right: one.right },
  check: () => one.check(one.of),
}));
