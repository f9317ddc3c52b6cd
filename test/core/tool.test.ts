import { expect, it } from '@jest/globals';
import { z } from 'zod';
import { defineTool } from '../../src/core/tool.js';

const needed = {
  name: 'exec_try',
  description: 'Tries.',
  schema: z.strictObject({ hard: z.boolean() }),
  execute: async () => ({ content: '' }),
};
const hard = { hard: true };

it('a tool without an effect class is unsafe, and a person approves each call', () => {
  const tool = defineTool(needed);
  expect([tool.effect, tool.danger(hard), tool.timeoutMs(hard)]).toEqual(['unsafe', 'dangerous', 60_000]);
});

it.each([
  ['pure', 'safe'],
  ['keyed', 'dangerous'],
  ['queryable', 'dangerous'],
] as const)('a tool of effect %s is %s unless it says otherwise', (effect, danger) => {
  expect(defineTool({ ...needed, effect }).danger(hard)).toBe(danger);
});

it('the danger and the time limit of a tool may be plain values, or functions of the arguments', () => {
  const plain = defineTool({ ...needed, danger: 'moderate', timeoutMs: 5 });
  expect([plain.danger(hard), plain.timeoutMs(hard)]).toEqual(['moderate', 5]);
  const asked = defineTool({
    ...needed,
    danger: (input) => (input.hard ? 'dangerous' : 'safe'),
    timeoutMs: (input) => (input.hard ? 2 : 1),
  });
  expect([asked.danger(hard), asked.timeoutMs({ hard: false })]).toEqual(['dangerous', 1]);
});
