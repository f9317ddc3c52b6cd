import type { EmbeddingProvider } from '../../core/embedding.js';
import type { LibraryStore } from '../../core/library.js';
import type { Logger } from '../../core/logger.js';
import type { DocumentDesk, Retrieval } from '../../core/retrieval.js';
import type { Tool } from '../../core/tool.js';
import { createDesk } from './desk.js';
import { ragRetrieveTool } from './rag-retrieve.js';
import { createRetrieval } from './retrieval.js';
import { VectorMaker } from './vector-maker.js';

export interface RagOptions {
  readonly library: LibraryStore;
  /** Without one everything is found by words alone: then it says why there is none, as sentences. */
  readonly provider: EmbeddingProvider | string;
  /** Size of a file that is taken in. */
  readonly maxFileBytes: number;
  readonly logger: Logger;
  /** Told whenever something was added. Must not throw. */
  readonly onAdded?: () => void;
  /** Takes away what removed documents left behind. */
  readonly purge: () => Promise<void>;
}

/** What finds things, and where documents are handed in. */
export function createRag(options: RagOptions): {
  readonly retrieval: Retrieval;
  readonly desk: DocumentDesk;
} {
  const { library, provider, logger, maxFileBytes, onAdded = () => undefined, purge } = options;
  const maker = typeof provider === 'string' ? provider : new VectorMaker({ library, provider, logger });
  const embedding =
    typeof provider === 'string' || typeof maker === 'string' ? undefined : { provider, maker };
  return {
    retrieval: createRetrieval({ library, embedding, onAdded, logger }),
    desk: createDesk({ library, maker, maxBytes: maxFileBytes, onAdded, purge }),
  };
}

/** The family that retrieves by meaning. */
export function createRagTools(retrieval: Retrieval): readonly Tool[] {
  return [ragRetrieveTool(retrieval)];
}
