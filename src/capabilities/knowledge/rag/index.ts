import { MEMORY_COLLECTION, type DocumentIndex, type Retrieval } from '../stores/library.js';
import type { Logger } from '../../../core/logger.js';
import type { EmbeddingProvider } from '../../../core/model.js';
import type { LibraryStore } from '../stores/library-store.js';
import type { Scope } from '../../../core/task.js';
import type { Tool } from '../../../core/tool.js';
import type { Parsers } from '../../../parsing/parsers.js';
import { searchTool } from '../search-tool.js';
import { createDocumentIndex } from './document-index.js';
import { PassageEmbedder } from './passage-embedder.js';
import { createRetrieval } from './retrieval.js';

export interface RagOptions {
  readonly library: LibraryStore;
  /** The provider, or the reason why there is none, as sentences. Without a provider, all searches go by words. */
  readonly provider: EmbeddingProvider | string;
  /** Called with the tokens that the vendor charges for an owner's texts. Must not throw. */
  readonly onTokens?: (scope: Scope, tokens: number) => void;
  readonly parsers: Parsers;
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
  const { library, provider, logger, parsers, maxFileBytes, purge } = options;
  const { onAdded = () => undefined, onTokens = () => undefined } = options;
  const embedder =
    typeof provider === 'string' ? provider : new PassageEmbedder({ library, provider, onTokens, logger });
  return {
    retrieval: createRetrieval({
      ...{ library, onAdded, logger },
      embedder: typeof embedder === 'string' ? undefined : embedder,
    }),
    documents: createDocumentIndex({ library, parsers, embedder, maxBytes: maxFileBytes, onAdded, purge }),
  };
}

/** The tools that search by meaning. */
export function createRagTools(retrieval: Retrieval): readonly Tool[] {
  return [
    searchTool(retrieval, {
      name: 'rag_retrieve',
      description:
        'Finds passages of documents and knowledge by meaning and by words, the best match first. Each result names its document, lines and headings: cite them.',
      filter: { except: [MEMORY_COLLECTION] },
      takesCollections: true,
    }),
  ];
}
