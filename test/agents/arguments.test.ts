import { expect, it } from '@jest/globals';
import { z } from 'zod';
import { createServer, defineTool } from '../../src/index.js';

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
