import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { silentLogger } from '../../src/core/logger.js';
import { answerText, functionCalls, type ModelProvider } from '../../src/core/model.js';
import { createAiSdkProvider } from '../../src/models/ai-sdk/provider.js';
import { PACKAGE_VENDORS, type PackageVendor } from '../quirks/package-vendors.js';
import { collect, modelRequest, READ_FILE } from '../support/model-requests.js';

/** The provider of a vendor that sends the same bytes each time, as far as `cut`, and then ends the stream or breaks it. */
function cutProvider(
  vendor: PackageVendor,
  bytes: Buffer,
  { cut, breaks }: { cut: number; breaks: boolean },
): ModelProvider {
  const {
    package: name = '',
    name: model = '',
    options,
    apiKey,
    baseUrl,
  } = vendor.settings('http://127.0.0.1:9');
  const body = (): ReadableStream<Uint8Array> =>
    new ReadableStream({
      start: (stream) => stream.enqueue(bytes.subarray(0, cut)),
      pull(stream) {
        if (breaks) stream.error(new TypeError('terminated'));
        else stream.close();
      },
    });
  return createAiSdkProvider({
    ...{
      package: name,
      model,
      apiKey,
      baseUrl,
      maxRetries: 0,
      folders: [process.cwd()],
      logger: silentLogger,
    },
    options: options as never,
    fetch: () => Promise.resolve(new Response(body(), { headers: { 'content-type': vendor.mediaType } })),
  });
}

const TEXT = 'I read the files now, one after the other.';

describe.each(PACKAGE_VENDORS.map((vendor) => [vendor.name, vendor] as const))(
  'a stream of %s',
  (_, vendor) => {
    const call = (path: string) => ({ name: 'fs_read', arguments: { path } });
    const bytes = vendor.stream({ thoughts: 'Hm.', text: TEXT, calls: [call('a.txt'), call('b.txt')] });

    it('that is cut anywhere gives no half answer, and no half call', async () => {
      const cuts = fc.record({ cut: fc.integer({ min: 0, max: bytes.length - 1 }), breaks: fc.boolean() });
      const property = fc.asyncProperty(cuts, async (at) => {
        const events = await collect(
          cutProvider(vendor, bytes, at),
          modelRequest({ functions: [READ_FILE] }),
        );
        const last = events.at(-1);
        if (last?.type === 'error') return;
        if (last?.type !== 'end') throw new Error('no end');
        // A stream that has said its last word may lack what accounts for it.
        const { content } = last.answer;
        expect(answerText(content)).toBe(TEXT);
        expect(functionCalls(content).map((one) => one.arguments)).toEqual([
          { path: 'a.txt' },
          { path: 'b.txt' },
        ]);
      });
      await fc.assert(property, { numRuns: 20 });
    });

    it('that is whole is an answer', async () => {
      const provider = cutProvider(vendor, bytes, { cut: bytes.length, breaks: false });
      const last = (await collect(provider, modelRequest({ functions: [READ_FILE] }))).at(-1);
      expect(last).toMatchObject({ type: 'end', answer: { stopReason: 'function-calls' } });
    });
  },
);
