import { z } from 'zod';
import { oneLine } from '../../core/text.js';
import { defineTool, type Tool } from '../../core/tool.js';
import { carriesMark, outsideField } from '../outside.js';
import type { FactOptions } from './fact.js';
import { FACT_TIME_MS, factField, factKey } from './fact.js';

export function memoryStoreTool({ store, retrieval }: FactOptions): Tool {
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
      const { tenant, owner, taskId, contextId } = context;
      const text = oneLine(fact);
      const { version } = await store.save(
        { tenant, owner },
        {
          kind: 'fact',
          key: factKey(fact),
          category: 'fact',
          content: text,
          tags: [],
          provenance: { fromOutside: carriesMark({ fromOutside }, context), taskId, contextId },
          callKey: context.key,
          passages: [{ text, start: 0, end: text.length, lines: undefined, heading: [] }],
        },
      );
      retrieval.catchUp({ tenant, owner });
      return { content: version === 1 ? `Remembered: ${text}` : `This was remembered before: ${text}` };
    },
  });
}
