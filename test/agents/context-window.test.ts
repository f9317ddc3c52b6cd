import { describe, expect, it } from '@jest/globals';
import { smallestClearing, withoutOld, type TurnMessage } from '../../src/agents/clearing.js';
import { tokensIn } from '../../src/core/text.js';
import { textPart } from '../../src/core/message.js';
import type {
  FunctionResult,
  ModelEvent,
  ModelMessage,
  ModelProvider,
  ModelRequest,
} from '../../src/core/model.js';
import { DEFAULT_LIMITS, toolNamed, tree } from '../support/agent-fixtures.js';
import { MemoryRun } from '../support/memory-run.js';
import { call, say } from '../support/scripted-model.js';

const TURNS = 30;
const PAGE_BYTES = 2_000;
const LIMITS = { ...DEFAULT_LIMITS, turns: 100, toolCalls: 100, answerTokens: 1_000 };

/** A vendor with a window that its requests may not exceed. It asks for page after page. */
class SmallVendor implements ModelProvider {
  readonly id = 'small/model';
  /** The requests that it accepted, by turn. */
  readonly accepted = new Map<number, string>();
  refused = 0;

  readonly #real: number;
  readonly #named: number | undefined;
  readonly windowTokens?: number;

  constructor(real: number, { known, named }: { readonly known?: number; readonly named?: number } = {}) {
    this.#real = real;
    this.#named = named;
    if (known) this.windowTokens = known;
  }

  async *stream({ system, messages, functions, maxTokens }: ModelRequest): AsyncIterable<ModelEvent> {
    await Promise.resolve();
    const text = JSON.stringify([system, messages, functions]);
    if (Buffer.byteLength(text) / 4 + maxTokens > this.#real) {
      this.refused += 1;
      const failure = { code: 'rejected', message: 'too long', retryable: false, about: 'length' } as const;
      yield { type: 'error', ...failure, ...(this.#named && { windowTokens: this.#named }) };
      return;
    }
    const last = messages.at(-1)!;
    const [, page = '0'] =
      /page (\d+)/.exec(last.role === 'results' ? last.results.at(-1)!.content : '') ?? [];
    const turn = Number(page) + 1;
    this.accepted.set(turn, text);
    const answer = turn > TURNS ? say('Done.') : call(['fs_read', { path: String(turn) }]);
    yield {
      type: 'end',
      answer: { ...answer, usage: { input: Math.ceil(text.length / 4), output: 9, cached: 0 } },
    };
  }
}

const READ = toolNamed('fs_read', {
  execute: async (page) => Promise.resolve({ content: `page ${page} ${'x'.repeat(PAGE_BYTES)}` }),
});

function agentOf(model: ModelProvider) {
  return tree({ multiAgent: false, model, tools: [READ], limits: LIMITS }).root!;
}

describe('a task that fills the context window', () => {
  const WINDOW = 8_000;

  it.each([
    ['is known', () => new SmallVendor(WINDOW, { known: WINDOW }), 0],
    ['is named by the vendor', () => new SmallVendor(WINDOW, { named: WINDOW }), 1],
    ['is not known', () => new SmallVendor(WINDOW), 3],
  ])(
    'sends the same requests after a crash at any event, when the window %s',
    async (_, vendorOf, refused) => {
      const vendor = vendorOf();
      const whole = MemoryRun.of('lango-agent', 'read all');
      expect(await whole.perform(agentOf(vendor))).toEqual({ state: 'completed' });
      expect(vendor.refused).toBeLessThanOrEqual(refused);
      expect(whole.bodies('results-cleared').length).toBeGreaterThan(1);
      expect(whole.bodies('results-cleared').length).toBeLessThan(TURNS / 3);
      for (let count = 2; count < whole.events.length - 1; count += 3) {
        const later = vendorOf();
        const resumed = whole.resumed(count);
        expect(await resumed.perform(agentOf(later))).toEqual({ state: 'completed' });
        expect([count, Object.fromEntries(later.accepted)]).toEqual([
          count,
          Object.fromEntries([...vendor.accepted].filter(([turn]) => later.accepted.has(turn))),
        ]);
      }
    },
  );

  it('is cut where one result alone does not fit', async () => {
    const vendor = new SmallVendor(WINDOW, { known: WINDOW });
    const huge = toolNamed('fs_read', {
      execute: async (page) => Promise.resolve({ content: `page ${page} ${'x'.repeat(60_000)} END ${page}` }),
    });
    const limits = { ...LIMITS, turns: 60 };
    const agent = tree({ multiAgent: false, model: vendor, tools: [huge], limits }).root!;
    const run = MemoryRun.of('lango-agent', 'read all');
    expect(await run.perform(agent)).toEqual({ state: 'completed' });
    expect(vendor.refused).toBe(0);
    expect(vendor.accepted.get(2)).toMatch(
      /page 1 x+\\n\[… \d+ bytes left out; the whole did not fit[^\]]*\]\\nx+ END 1"/,
    );
  });

  it('fails with a reason when the message of the person alone does not fit', async () => {
    const vendor = new SmallVendor(WINDOW, { known: WINDOW });
    const run = MemoryRun.of('lango-agent', 'x'.repeat(40_000));
    const end = await run.perform(agentOf(vendor));
    expect(end).toMatchObject({ state: 'failed', reason: 'model-rejected' });
    expect(vendor.refused).toBe(1);
  });
});

describe('what is cleared of a conversation', () => {
  const ask = (text: string, turn: number): TurnMessage => ({
    turn,
    message: { role: 'user', parts: [textPart(text)] },
  });
  const exchange = (turn: number, change: Partial<FunctionResult> = {}): TurnMessage[] => {
    const id = `id-${turn}`;
    const { name = 'fs_read' } = change;
    const result = { id, name, content: `result ${turn} ${'y'.repeat(1_000)}`, isError: false, ...change };
    const block = { type: 'function-call', id, name, arguments: { turn } } as const;
    const answer: ModelMessage = { role: 'assistant', author: 'a', content: [block] };
    return [
      { turn, message: answer },
      { turn, message: { role: 'results', results: [result] } },
    ];
  };
  const conversation = [
    ...[ask('earlier one', 0), ...exchange(0), ask('earlier two', 0)],
    ...[ask('the request', 1), ...exchange(1), ...exchange(2, { isError: true })],
    ...[...exchange(3, { name: 'ask_user' }), ask('a follow-up', 4), ...exchange(4), ...exchange(5)],
  ];
  const textOf = (entries: readonly TurnMessage[]) => JSON.stringify(entries.map(({ message }) => message));
  const clearedTo = (share: number): readonly [string, readonly TurnMessage[]] => {
    const clearing = smallestClearing(conversation, 5, tokensIn(conversation) * share);
    const entries = withoutOld(conversation, clearing);
    return [textOf(entries), entries];
  };

  it('is the result of the oldest calls first, and as little as fits', () => {
    const [text] = clearedTo(0.9);
    expect(text).not.toContain('result 0 ');
    for (const kept of ['earlier one', 'result 1 ', 'result 2 ', 'result 3 ', 'result 4 ', 'result 5 '])
      expect(text).toContain(kept);
  });

  it('is never an error, the reply to a question, a message of the person or the newest result, while results suffice', () => {
    const [text] = clearedTo(0.66);
    expect(text.match(/Cleared to make room/g)).toHaveLength(3);
    for (const kept of ['earlier one', 'the request', 'result 2 ', 'result 3 ', 'a follow-up', 'result 5 '])
      expect(text).toContain(kept);
  });

  it('is whole calls next, with one note in their place, and each call keeps its result', () => {
    const [text, entries] = clearedTo(0.55);
    expect(text.match(/are left out here to make room/g)).toHaveLength(1);
    expect(text).not.toContain('id-0');
    for (const kept of ['the request', 'result 2 ', 'result 3 ', 'a follow-up', 'result 5 '])
      expect(text).toContain(kept);
    for (const [at, { message }] of entries.entries())
      if (message.role === 'results') expect(entries[at - 1]?.message.role).toBe('assistant');
  });

  it('is errors and earlier tasks at last, and never the reply of the person', () => {
    const [text] = clearedTo(0.01);
    for (const gone of ['earlier one', 'earlier two', 'result 2 ']) expect(text).not.toContain(gone);
    for (const kept of ['the request', 'result 3 ', 'a follow-up']) expect(text).toContain(kept);
    expect(text).toContain('id-5');
  });
});
