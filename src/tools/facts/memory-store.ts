import { z } from 'zod';
import { oneLine } from '../../core/text.js';
import { defineTool, type Tool } from '../../core/tool.js';
import type { Keeping } from '../keeping.js';
import { keepEntry } from '../keeping.js';
import { outsideField } from '../outside.js';
import { FACT_TIME_MS, factField, factKey } from './fact.js';

export function memoryStoreTool(keeping: Keeping): Tool {
  return defineTool({
    name: 'memory_store',
    description:
      'Remembers a fact for this user, for all of their conversations: one sentence that says all that matters. Never a secret.',
    schema: z.strictObject({
      fact: factField('What to remember, in one sentence that is clear by itself'),
      fromOutside: outsideField(),
    }),
    effect: 'keyed',
    danger: () => 'safe',
    timeoutMs: () => FACT_TIME_MS,
    examples: [
      { text: 'remember that {fact}' },
      { text: 'remember: {fact}' },
      { text: 'remember the fact that {fact}' },
      { text: 'keep in mind that {fact}' },
    ],
    async execute({ fact, fromOutside }, context) {
      const text = oneLine(fact);
      const passages = [{ text, start: 0, end: text.length, lines: undefined, heading: [] }];
      const named = { kind: 'fact', key: factKey(fact), category: 'fact' } as const;
      const entry = { ...named, content: text, tags: [], passages, fromOutside };
      const { version } = await keepEntry(keeping, entry, context);
      return { content: version === 1 ? `Remembered: ${text}` : `This was remembered before: ${text}` };
    },
  });
}
