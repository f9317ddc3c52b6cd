import { LEARNINGS_COLLECTION } from '../../core/library.js';
import type { Retrieval } from '../../core/retrieval.js';
import { defineTool, type Tool } from '../../core/tool.js';
import { describeFindings } from '../findings.js';
import { DEFAULT_LIMIT, querySchema, SEARCH_TIME_MS } from './fields.js';

export function searchLearningsTool(retrieval: Retrieval): Tool {
  return defineTool({
    name: 'search_learnings',
    description:
      'Finds what was learned from things that went wrong, by trigger, diagnosis and fix, the best first.',
    schema: querySchema,
    effect: 'pure',
    danger: () => 'safe',
    timeoutMs: () => SEARCH_TIME_MS,
    examples: [
      { text: 'what did you learn about {query}' },
      { text: 'what have you learned about {query}' },
      { text: 'search the learnings for {query}' },
      { text: 'search learnings for {query}' },
    ],
    async execute({ query, limit = DEFAULT_LIMIT }, { tenant, owner, signal }) {
      const request = { query, limit, only: [LEARNINGS_COLLECTION] };
      return describeFindings(query, await retrieval.search({ tenant, owner }, request, signal));
    },
  });
}
