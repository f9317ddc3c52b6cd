import { LEARNINGS_COLLECTION, MEMORY_COLLECTION } from '../../core/library.js';
import type { Retrieval } from '../../core/retrieval.js';
import { defineTool, type Tool } from '../../core/tool.js';
import { describeFindings } from '../findings.js';
import { DEFAULT_LIMIT, querySchema, SEARCH_TIME_MS } from './fields.js';

export function searchKnowledgeTool(retrieval: Retrieval): Tool {
  return defineTool({
    name: 'search_knowledge',
    description:
      'Finds what is kept: knowledge by its key and its text, and passages of ingested documents, the best first, each with its source. Any language; names such as parseConfig are found by their parts too. When there is none of it, remembered facts.',
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
      const request = { query, limit, except: [LEARNINGS_COLLECTION, MEMORY_COLLECTION] };
      const found = await retrieval.search({ tenant, owner }, request, signal);
      if (found.hits.length > 0) return describeFindings(query, found);
      // Who asks what is known does not mind that it was kept as a fact.
      const facts = { query, limit, only: [MEMORY_COLLECTION] };
      return describeFindings(query, await retrieval.search({ tenant, owner }, facts, signal));
    },
  });
}
