import { z } from 'zod';
import {
  MEMORY_COLLECTION,
  type DocumentIndex,
  type LibraryStore,
  type Retrieval,
} from '../../stores/library.js';
import type { Logger } from '../../core/logger.js';
import type { EmbeddingProvider } from '../../core/model.js';
import { defineTool, type Tool } from '../../core/tool.js';
import { describeFindings } from '../findings.js';
import { createDocumentIndex } from './document-index.js';
import { PassageEmbedder } from './passage-embedder.js';
import { createRetrieval } from './retrieval.js';

export interface RagOptions {
  readonly library: LibraryStore;
  /** The provider, or the reason why there is none, as sentences. Without a provider, all searches go by words. */
  readonly provider: EmbeddingProvider | string;
  /** Maximum size of a file. */
  readonly maxFileBytes: number;
  readonly logger: Logger;
  /** Called whenever something was added. Must not throw. */
  readonly onAdded?: () => void;
  /** Deletes the remains of removed documents. */
  readonly purge: () => Promise<void>;
}

/** Creates the search over the library and the document index. */
export function createRag(options: RagOptions): {
  readonly retrieval: Retrieval;
  readonly documents: DocumentIndex;
} {
  const { library, provider, logger, maxFileBytes, onAdded = () => undefined, purge } = options;
  const embedder =
    typeof provider === 'string' ? provider : new PassageEmbedder({ library, provider, logger });
  const embedding =
    typeof provider === 'string' || typeof embedder === 'string' ? undefined : { provider, embedder };
  return {
    retrieval: createRetrieval({ library, embedding, onAdded, logger }),
    documents: createDocumentIndex({ library, embedder, maxBytes: maxFileBytes, onAdded, purge }),
  };
}

/** The tools that search by meaning. */
export function createRagTools(retrieval: Retrieval): readonly Tool[] {
  return [ragRetrieveTool(retrieval)];
}

const LIMIT_DEFAULT = 5;
const LIMIT_MAX = 20;
const LONGEST_QUERY = 2_000;
const MOST_COLLECTIONS = 20;

const schema = z.strictObject({
  query: z.string().trim().min(1).max(LONGEST_QUERY).describe('The question, in full words'),
  limit: z.number().int().min(1).max(LIMIT_MAX).optional().describe(`${LIMIT_DEFAULT} passages by default`),
  collections: z
    .array(z.string().trim().min(1).max(64))
    .min(1)
    .max(MOST_COLLECTIONS)
    .optional()
    .describe('Search only these collections of documents; all by default'),
});

function ragRetrieveTool(retrieval: Retrieval): Tool {
  return defineTool({
    name: 'rag_retrieve',
    description:
      'Finds passages of documents and knowledge by meaning and by words, the best match first. Each result names its document, lines and headings: cite them.',
    schema,
    effect: 'pure',
    async execute({ query, limit = LIMIT_DEFAULT, collections }, { tenant, owner, signal }) {
      const except = [MEMORY_COLLECTION];
      const request = { query, limit, except, ...(collections ? { only: collections } : {}) };
      return describeFindings(query, await retrieval.search({ tenant, owner }, request, signal));
    },
  });
}
