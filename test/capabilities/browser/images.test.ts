import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../src/core/json.js';
import { anthropicWire } from '../../support/anthropic-wire.js';
import { sentId } from '../../support/model-requests.js';
import type { ModelWire } from '../../support/model-wire.js';
import { openaiWire } from '../../support/openai-wire.js';
import { events, ScriptedServer } from '../../support/scripted-server.js';
import { sendText, withServer } from '../../support/server.js';
import { describeBrowsing, openSite, type Site } from './setup.js';

interface Vendor {
  readonly wire: ModelWire;
  readonly path: string;
  /** The pictures of a request, each with the call that it came from, when they are where the vendor expects them. */
  readonly pictures: (body: JsonObject) => readonly Picture[];
}

interface Picture {
  readonly call: string;
  readonly bytes: string;
}

type Block = Readonly<Record<string, unknown>>;

const blocksOf = ({ content }: Block): readonly Block[] =>
  Array.isArray(content) ? (content as Block[]) : [];

/** Inside the result of the call. */
function anthropicPictures({ messages }: JsonObject): readonly Picture[] {
  const results = (messages as unknown as Block[])
    .filter(({ role }) => role === 'user')
    .flatMap(blocksOf)
    .filter(({ type }) => type === 'tool_result');
  return results.flatMap((result) =>
    blocksOf(result)
      .filter(({ type }) => type === 'image')
      .map(({ source }) => {
        const { type, media_type: mediaType, data } = source as Block;
        expect([type, mediaType]).toEqual(['base64', 'image/png']);
        return { call: String(result['tool_use_id']), bytes: String(data) };
      }),
  );
}

/** A tool's message holds text only: the pictures stand in a user's message after it, with the call's id before them. */
function openaiPictures({ messages }: JsonObject): readonly Picture[] {
  const all = messages as unknown as Block[];
  expect(all.filter(({ role }) => role === 'tool').flatMap(blocksOf)).toEqual([]);
  let call = '';
  return all
    .filter(({ role }) => role === 'user')
    .flatMap(blocksOf)
    .flatMap((block) => {
      call = /From the result of browser_screenshot \((\w+)\)/.exec(String(block['text']))?.[1] ?? call;
      if (block['type'] !== 'image_url') return [];
      const { url } = block['image_url'] as Block;
      expect(url).toMatch(/^data:image\/png;base64,/);
      return [{ call, bytes: String(url).split(',')[1]! }];
    });
}

const VENDORS: Readonly<Record<'anthropic' | 'openai', Vendor>> = {
  anthropic: { wire: anthropicWire, path: '', pictures: anthropicPictures },
  openai: { wire: openaiWire, path: '/v1', pictures: openaiPictures },
};

describeBrowsing('a screenshot and a model that takes images', () => {
  let site: Site;
  let vendor: ScriptedServer;
  beforeEach(async () => {
    site = await openSite({ '/': '<title>Red</title><body style="background: red">' });
    vendor = await ScriptedServer.open();
  });
  afterEach(async () => {
    await vendor[Symbol.asyncDispose]();
    await site.close();
  });

  it.each(['anthropic', 'openai'] as const)(
    '%s gets a screenshot with the result of its call: the newest two only, and not again in the next task',
    async (provider) => {
      const { wire, path, pictures } = VENDORS[provider];
      const calling = (id: string, name: string, input: object = {}) =>
        events(wire.answer({ calls: [{ id, name, json: [JSON.stringify(input)] }], stop: 'function-calls' }));
      vendor.willReply(
        calling('n0', 'browser_navigate', { url: `${site.origin}/` }),
        calling('s1', 'browser_screenshot'),
        calling('s2', 'browser_screenshot', { fullPage: true }),
        calling('s3', 'browser_screenshot', { fullPage: false }),
        events(wire.answer({ texts: ['It is red.'], stop: 'end' })),
        events(wire.answer({ texts: ['As I said.'], stop: 'end' })),
      );
      const settings = {
        server: { port: 0 },
        agent: { multiAgent: false },
        model: { provider, name: 'sees', apiKey: 'key', baseUrl: `${vendor.url}${path}` },
        tools: { browser: { enabled: true, allowHosts: [site.host] } },
      };
      await withServer({ settings }, async (server) => {
        const seen = await sendText(server, 'look at it three times', { contextId: 'c' });
        expect(seen.end).toMatchObject({ state: 'completed', text: 'It is red.' });
        await sendText(server, 'and now?', { contextId: 'c' });
        const files = seen.events.flatMap((event) => (event.type === 'artifact' ? event.artifact.parts : []));
        const shots = files.map((part) => (part as { readonly bytes: string }).bytes);
        expect(shots).toHaveLength(3);
        const asked = vendor.requests.map(({ body }) => pictures(body));
        const shown = (index: number) => ({ call: sentId(`s${index}`), bytes: shots[index - 1]! });
        expect(asked).toEqual([[], [], [shown(1)], [shown(1), shown(2)], [shown(2), shown(3)], []]);
        expect(JSON.stringify(vendor.requests[4]!.body)).toContain('is not shown any more');
      });
    },
  );
});
