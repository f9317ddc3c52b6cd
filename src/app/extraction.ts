import { KNOWLEDGE_COLLECTION, LEARNINGS_COLLECTION, MEMORY_COLLECTION } from '../core/library.js';
import type { Storage } from '../core/store.js';
import { Extractor } from '../tools/graph/index.js';
import type { DistillerSources } from './distiller.js';
import { openDistiller } from './distiller.js';

export interface ExtractionContext extends DistillerSources {
  readonly storage: Storage;
}

/** What tells the graph of what is kept, at work already; undefined when it is switched off or no model can do it. */
export async function openExtraction(context: ExtractionContext): Promise<Extractor | undefined> {
  const { config, storage, logger } = context;
  const { enabled, documents, model, maxCharacters, callsPerHour } = config.graph.extraction;
  if (!config.graph.enabled || !enabled) return undefined;
  const distiller = await openDistiller(context, model);
  if (!distiller) return undefined;
  const extractor = new Extractor({
    store: storage.extraction,
    distiller,
    shelves: documents
      ? { except: [LEARNINGS_COLLECTION, MEMORY_COLLECTION] }
      : { only: [KNOWLEDGE_COLLECTION] },
    maxCharacters,
    callsPerHour,
    logger,
  });
  extractor.wake();
  return extractor;
}
