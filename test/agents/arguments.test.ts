import { expect, it } from '@jest/globals';
import { z } from 'zod';
import { schemaReader } from '../../src/agents/arguments.js';
import { createServer, defineTool } from '../../src/index.js';
import { call, say, ScriptedModel } from '../support/scripted-model.js';
import { sendText, withServer } from '../support/server.js';

it('a tool whose arguments cannot be described to a model is refused before anything starts', () => {
  const remind = defineTool({
    name: 'exec_remind',
    description: 'Reminds.',
    schema: z.strictObject({ when: z.date() }),
    effect: 'pure',
    execute: async () => ({ content: '' }),
  });
  expect(() => createServer({ tools: [remind] })).toThrow(
    expect.objectContaining({
      code: 'invalid-config',
      message: 'The arguments of the tool exec_remind have no JSON Schema.',
      hint: 'Use types that JSON has: Date cannot be represented in JSON Schema.',
    }),
  );
});

it('a tool of a program may name its arguments as no vendor takes them, at all depths', async () => {
  const got: unknown[] = [];
  const find = defineTool({
    name: 'exec_find',
    description: 'Finds.',
    schema: z.object({ $top: z.number(), where: z.array(z.object({ '@id': z.string() })) }),
    effect: 'pure',
    async execute(input) {
      got.push(input);
      return { content: 'found' };
    },
  });
  const flat = [call(['exec_find', { top: '5', where: [{ id: 'a' }] }]), say('Done.')];
  const model = new ScriptedModel({ flat });
  const settings = { server: { port: 0 }, agent: { multiAgent: false } };
  await withServer({ model, settings, tools: [find] }, async (server) => void (await sendText(server, 'hi')));
  const { parameters } = model.requests[0]!.functions.find(({ name }) => name === 'exec_find')!;
  expect(Object.keys(parameters['properties']!)).toEqual(['top', 'where']);
  expect(JSON.stringify(parameters)).toContain('"id":{');
  expect(got).toEqual([{ $top: 5, where: [{ '@id': 'a' }] }]);
});

it('arguments are read by a bounded number of branches, so that no schema of a server blocks the process', () => {
  const branches = Array.from({ length: 400 }, (_, at) => ({
    type: 'object',
    properties: { kind: { const: at }, size: { type: 'integer' } },
  }));
  const items = { anyOf: branches };
  const reader = schemaReader({ type: 'object', properties: { list: { type: 'array', items } } });
  const list = Array.from({ length: 1_000 }, () => ({ kind: 1, size: '7' }));
  const read = reader.parse({ list });
  const sizes = 'given' in read ? (read.given['list'] as readonly { readonly size: unknown }[]) : [];
  expect(sizes[0]).toEqual({ kind: 1, size: 7 });
  expect(sizes.at(-1)).toEqual({ kind: 1, size: '7' });
});
