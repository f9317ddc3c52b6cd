import { z } from 'zod';
import { defineTool, type Tool } from '../../core/tool.js';
import { describeFindings } from '../findings.js';
import type { Keeping } from '../keeping.js';
import { FACT_TIME_MS, queryField } from './fact.js';
import { amongFacts } from './recollection.js';

const LIMIT_DEFAULT = 5;
const LIMIT_MAX = 20;

export function memoryRecallTool({ retrieval }: Keeping): Tool {
  return defineTool({
    name: 'memory_recall',
    description: 'Finds facts that this user wanted remembered, the best first, in any language.',
    schema: z.strictObject({
      query: queryField('What to look for, in plain words'),
      limit: z.int().min(1).max(LIMIT_MAX).optional().describe(`${LIMIT_DEFAULT} facts by default`),
    }),
    effect: 'pure',
    danger: () => 'safe',
    timeoutMs: () => FACT_TIME_MS,
    examples: [
      { text: 'what do you remember about {query}' },
      { text: 'do you remember {query}' },
      { text: 'recall {query}' },
      { text: 'what is my {query}' },
      { text: 'recall what you remember about {query}' },
    ],
    async execute({ query, limit = LIMIT_DEFAULT }, { tenant, owner, signal }) {
      const found = await retrieval.search({ tenant, owner }, amongFacts(query, limit), signal);
      return describeFindings(query, found);
    },
  });
}
