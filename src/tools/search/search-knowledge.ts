import { LEARNINGS_COLLECTION } from '../../core/library.js';
import type { Retrieval } from '../../core/retrieval.js';
import { defineTool, type Tool } from '../../core/tool.js';
import { describeFindings } from '../findings.js';
import { DEFAULT_LIMIT, querySchema, SEARCH_TIME_MS } from './fields.js';

export function searchKnowledgeTool(retrieval: Retrieval): Tool {
  return defineTool({
    name: 'search_knowledge',
    description:
      'Finds what is kept: knowledge by its key and its text, passages of ingested documents, and remembered facts, the best first, each with its source. Any language; names such as parseConfig are found by their parts too.',
    schema: querySchema,
    effect: 'pure',
    danger: () => 'safe',
    timeoutMs: () => SEARCH_TIME_MS,
    examples: [
      { text: 'what do you know about {query}' },
      { text: 'what do we know about {query}' },
      { text: 'what is known about {query}' },
      { text: 'search the knowledge for {query}' },
      { text: 'search knowledge for {query}' },
      { text: 'look up {query} in the knowledge' },
      { text: 'find knowledge about {query}' },
    ],
    async execute({ query, limit = DEFAULT_LIMIT }, { tenant, owner, signal }) {
      // Who asks what is known does not mind that it was kept as a fact.
      const request = { query, limit, except: [LEARNINGS_COLLECTION] };
      return describeFindings(query, await retrieval.search({ tenant, owner }, request, signal));
    },
  });
}
