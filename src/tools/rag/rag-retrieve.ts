import { z } from 'zod';
import { MEMORY_COLLECTION } from '../../core/library.js';
import type { Retrieval } from '../../core/retrieval.js';
import { defineTool, type Tool } from '../../core/tool.js';
import { describeFindings } from '../findings.js';

const RETRIEVE_TIME_MS = 60_000;
const DEFAULT_LIMIT = 5;
const MOST = 20;
const LONGEST_QUERY = 2_000;
const MOST_COLLECTIONS = 20;

const schema = z.strictObject({
  query: z.string().trim().min(1).max(LONGEST_QUERY).describe('The question, in full words'),
  limit: z.number().int().min(1).max(MOST).optional().describe(`${DEFAULT_LIMIT} passages by default`),
  collections: z
    .array(z.string().trim().min(1).max(64))
    .min(1)
    .max(MOST_COLLECTIONS)
    .optional()
    .describe('Only these collections of documents; all by default'),
});

export function ragRetrieveTool(retrieval: Retrieval): Tool {
  return defineTool({
    name: 'rag_retrieve',
    description:
      'Finds passages of kept documents and knowledge by meaning and by words, the best first. Each names its document, lines and headings: cite them.',
    schema,
    effect: 'pure',
    danger: () => 'safe',
    timeoutMs: () => RETRIEVE_TIME_MS,
    examples: [
      { text: 'retrieve {query}' },
      { text: 'retrieve passages about {query}' },
      { text: 'what do the documents say about {query}' },
      { text: 'search the documents for {query}' },
      { text: 'find passages about {query}' },
    ],
    async execute({ query, limit = DEFAULT_LIMIT, collections }, { tenant, owner, signal }) {
      const except = [MEMORY_COLLECTION];
      const request = { query, limit, except, ...(collections ? { only: collections } : {}) };
      return describeFindings(query, await retrieval.search({ tenant, owner }, request, signal));
    },
  });
}
