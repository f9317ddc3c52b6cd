import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import type { Tool } from '../../src/index.js';
import { defineTool } from '../../src/index.js';
import { call, say, ScriptedModel } from '../support/scripted-model.js';
import { findIn, findInFolder } from '../support/secret-search.js';
import type { TestServer } from '../support/server.js';
import { sendText, withServer } from '../support/server.js';

const VALUE = 'swordfish-9000';
const FLAT = { server: { port: 0 }, agent: { multiAgent: false } };

/** A tool that leaks a value in every way. */
const leak: Tool = defineTool({
  name: 'exec_leak',
  description: 'Leaks.',
  schema: z.strictObject({ text: z.string(), how: z.enum(['answer', 'error', 'file', 'log']) }),
  effect: 'pure',
  secretPlace: 'exec',
  async execute({ text, how }, context) {
    const value = await context.resolveSecrets(text);
    const bytes = Buffer.from(`a file with ${value}`).toString('base64');
    if (how === 'error') throw new Error(`it failed with ${value}`);
    if (how === 'log')
      context.logger.warn(`look: ${value}`, { value, error: new Error(value), deep: [{ [value]: 1 }] });
    if (how === 'file')
      return { content: 'see the file', files: [{ kind: 'file', bytes, filename: 'x.txt' }] };
    return { content: { value, encoded: bytes, list: [value] } };
  },
});

const blind: Tool = { ...leak, name: 'fs_blind' };
delete (blind as { secretPlace?: unknown }).secretPlace;

async function store(server: TestServer): Promise<void> {
  const body = JSON.stringify({ value: VALUE, places: ['exec'] });
  expect((await server.fetch('/lango/secrets/fish', { method: 'PUT', body })).status).toBe(200);
}

describe('a tool that gets a secret', () => {
  it.each(['answer', 'error', 'file', 'log'])('leaks it to nobody in its %s', async (how) => {
    const script = [call(['exec_leak', { text: 'x {{secret:fish}}', how }]), say('Done.')];
    const model = new ScriptedModel({ flat: script });
    await withServer({ model, tools: [leak], settings: FLAT }, async (server) => {
      await store(server);
      const outcome = await sendText(server, 'go');
      expect(outcome.end.state).toBe('completed');
      const told = JSON.stringify(model.requests[1]?.messages);
      expect([
        ...findIn('told to the model', told, VALUE),
        ...findIn('events', JSON.stringify(outcome.events), VALUE),
        ...findIn('log', server.log.lines.join('\n'), VALUE),
        ...findInFolder(server.home, VALUE),
      ]).toEqual([]);
      const where = how === 'log' ? server.log.lines.join('\n') : told + JSON.stringify(outcome.events);
      if (how !== 'file') expect(where).toContain('{{secret:fish}}');
      else expect(where).toContain(Buffer.from('a file with x {{secret:fish}}').toString('base64'));
      expect(server.log.lines.join('\n')).toContain('a secret was used');
    });
  });

  it('gets none when it does not declare where it takes one', async () => {
    const model = new ScriptedModel({
      flat: [call(['fs_blind', { text: '{{secret:fish}}', how: 'answer' }]), say('Done.')],
    });
    await withServer({ model, tools: [blind], settings: FLAT }, async (server) => {
      await store(server);
      await sendText(server, 'go');
      expect(JSON.stringify(model.requests[1]?.messages)).toContain('fs_blind takes no secrets');
    });
  });
});

describe("a secret's value in model output", () => {
  it('reaches a tool as the reference that is in the journal', async () => {
    const got: unknown[] = [];
    const note: Tool = {
      ...blind,
      name: 'fs_note',
      execute: async (input) => ({ content: String(got.push(input)) }),
    };
    const args = { text: `it is ${VALUE}`, how: 'answer' };
    const model = new ScriptedModel({ flat: [call(['fs_note', args]), say('Done.')] });
    await withServer({ model, tools: [note], settings: FLAT }, async (server) => {
      await store(server);
      await sendText(server, 'go');
      expect(got).toEqual([{ ...args, text: 'it is {{secret:fish}}' }]);
    });
  });

  it.each([
    ['as a number', 9_000_123_456],
    ['with a character that JSON writes in another way', 'sword"fish-9000'],
  ])('is found in the data that a tool returns, %s', async (_, value) => {
    const tell: Tool = { ...blind, name: 'fs_tell', execute: async () => ({ content: { value } }) };
    const script = [call(['fs_tell', { text: 'x', how: 'answer' }]), say('Done.')];
    const model = new ScriptedModel({ flat: script });
    await withServer({ model, tools: [tell], settings: FLAT }, async (server) => {
      const body = JSON.stringify({ value: String(value), places: ['exec'] });
      await server.fetch('/lango/secrets/fish', { method: 'PUT', body });
      await sendText(server, 'go');
      expect(JSON.stringify(model.requests[1]?.messages)).toContain('{{secret:fish}}');
    });
  });
});

describe('a value that was said before it became a secret', () => {
  it('is shown to no model again in a later task of the conversation', async () => {
    const model = new ScriptedModel({ flat: [say('All right.'), say('Yes?')] });
    await withServer({ model, settings: FLAT }, async (server) => {
      await sendText(server, `my password is ${VALUE}`, { contextId: 'c' });
      await store(server);
      await sendText(server, 'what did I say?', { contextId: 'c' });
      expect(JSON.stringify(model.requests[0]?.messages)).toContain(VALUE);
      const later = JSON.stringify(model.requests[1]?.messages);
      expect(later).toContain('my password is {{secret:fish}}');
      expect(findIn('request', later, VALUE)).toEqual([]);
    });
  });
});
