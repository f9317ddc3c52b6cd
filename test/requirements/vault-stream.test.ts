import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ModelEvent, ModelProvider } from '../../src/index.js';
import { findIn, findInFolder } from '../support/secret-search.js';
import { sendText, withServer } from '../support/server.js';

/** A model that says given text in chunks: some at once, some after the journal has written the earlier ones. */
class Parrot implements ModelProvider {
  readonly id = 'parrot';
  pieces: readonly { readonly text: string; readonly isLate: boolean }[] = [];
  /** The messages that the model was sent, as text. */
  readonly heard: string[] = [];

  async *stream(request: Parameters<ModelProvider['stream']>[0]): AsyncIterable<ModelEvent> {
    this.heard.push(JSON.stringify(request.messages));
    for (const { text, isLate } of this.pieces) {
      await sleep(isLate ? 60 : 0);
      yield { type: 'text', text };
    }
    const text = this.pieces.map((piece) => piece.text).join('');
    const usage = { input: 1, output: 1, cached: 0 };
    yield { type: 'end', answer: { content: [{ type: 'text', text }], stopReason: 'end', usage } };
  }
}

const ENCODINGS: readonly ((value: string) => string)[] = [
  (value) => value,
  (value) => JSON.stringify({ value }),
  (value) => encodeURIComponent(value),
  (value) => Buffer.from(value).toString('hex'),
  ...[0, 1, 2].map(
    (shift) => (value: string) => Buffer.from(`${'xyz'.slice(0, shift)}${value}.`).toString('base64'),
  ),
];

const RUNS = process.env['LANGO_CAMPAIGN'] === '1' ? 100 : 6;

describe("a secret's value in streamed model output", () => {
  it('gets into no stream, no byte of the data folder, no log and no later request, in any chunks', async () => {
    const model = new Parrot();
    const values: string[] = [];
    await withServer(
      { model, settings: { server: { port: 0 }, agent: { multiAgent: false } } },
      async (server) => {
        const send = async (text: string): Promise<string> => {
          const message = {
            messageId: `m${Math.random()}`,
            contextId: 'c',
            role: 'ROLE_USER',
            parts: [{ text }],
          };
          const body = { jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: { message } };
          const headers = { 'a2a-version': '1.0' };
          return (await server.fetch('/', { method: 'POST', headers, body: JSON.stringify(body) })).text();
        };
        const secret = fc
          .string({ minLength: 8, maxLength: 60, unit: 'grapheme' })
          .filter((text) => new Set(text.trim()).size > 5 && text.trim().length >= 8 && !text.includes('\0'));
        const cuts = fc.array(fc.tuple(fc.nat(), fc.boolean()), { maxLength: 6 });
        await fc.assert(
          fc.asyncProperty(secret, fc.nat(ENCODINGS.length - 1), cuts, async (value, encoding, where) => {
            // For two secrets with one value, the mask may have either name.
            fc.pre(!values.includes(value));
            const name = `s${values.length}`;
            const stored = await server.fetch(`/lango/secrets/${name}`, {
              method: 'PUT',
              body: JSON.stringify({ value }),
            });
            expect(stored.status).toBe(200);
            values.push(value);
            model.pieces = cut(`It is ${ENCODINGS[encoding]!(value)} now.`, where);
            const seen = await send(`What is it? Not ${value}, is it?`);
            expect(seen).toContain('TASK_STATE_COMPLETED');
            expect(seen).toContain(name);
            expect(findIn('stream', seen, value)).toEqual([]);
          }),
          { numRuns: RUNS },
        );
        expect(values.length).toBeGreaterThanOrEqual(RUNS);
        for (const value of values) {
          expect(findInFolder(server.home, value)).toEqual([]);
          expect(findIn('log', server.log.lines.join('\n'), value)).toEqual([]);
          expect(findIn('request to the model', model.heard.join('\n'), value)).toEqual([]);
        }
      },
    );
  });

  it('is searched for to the end of the output, and text that only begins like it is kept', async () => {
    const model = new Parrot();
    const settings = { server: { port: 0 }, agent: { multiAgent: false } };
    await withServer({ model, settings }, async (server) => {
      const body = JSON.stringify({ value: 'swordfish-9000' });
      await server.fetch('/lango/secrets/fish', { method: 'PUT', body });
      model.pieces = [{ text: 'It begins with sword', isLate: false }];
      expect((await sendText(server, 'go')).end.text).toBe('It begins with sword');
    });
  });
});

function cut(text: string, where: readonly (readonly [number, boolean])[]): Parrot['pieces'] {
  const places = new Map(where.map(([place, isLate]) => [place % text.length, isLate]));
  const sorted = [...places].sort(([a], [b]) => a - b);
  const starts = [[0, false] as const, ...sorted];
  return starts.map(([start, isLate], index) => ({
    text: text.slice(start, starts[index + 1]?.[0]),
    isLate,
  }));
}
