import type { Config } from '../config/config.js';
import type { Secrets } from '../config/secrets.js';
import { isLangoError } from '../core/errors.js';
import type { DocumentIndex, Retrieval } from '../capabilities/knowledge/stores/library.js';
import {
  KNOWLEDGE_COLLECTION,
  LEARNINGS_COLLECTION,
  MEMORY_COLLECTION,
} from '../capabilities/knowledge/stores/library.js';
import { toBill } from '../agents/meter.js';
import { errorText } from '../core/errors.js';
import type { Logger } from '../core/logger.js';
import {
  NO_USAGE,
  type Distiller,
  type EmbeddingProvider,
  type ModelProvider,
  type Usage,
} from '../core/model.js';
import type { Scope } from '../core/task.js';
import type { Storage } from '../stores/storage.js';
import { missing, off, type ToolFamily } from '../core/tool-family.js';
import { createHttpEmbeddings } from '../capabilities/knowledge/embeddings/http.js';
import { openLocalEmbeddings } from '../capabilities/knowledge/embeddings/local.js';
import { createEgress } from '../http/egress.js';
import { createDistiller } from '../models/distiller.js';
import { createFactTools, recallFacts } from '../capabilities/knowledge/facts/index.js';
import { Extractor } from '../capabilities/knowledge/graph/index.js';
import { createKnowledgeTools } from '../capabilities/knowledge/saving/index.js';
import { createObservationalMemory } from '../capabilities/memory/observational-memory.js';
import type { Parsers } from '../parsing/parsers.js';
import { createRag, createRagTools } from '../capabilities/knowledge/rag/index.js';
import { createSearchTools, createWebSearchTools } from '../capabilities/knowledge/search/index.js';
import { createModel, meterFor } from './agents.js';

interface LibraryContext {
  readonly config: Config;
  readonly secrets: Secrets;
  readonly storage: Storage;
  readonly parsers: Parsers;
  readonly logger: Logger;
  /** Called after each addition to the library. Must not throw. */
  readonly onAdded?: () => void;
}

/** Knowledge and documents, for tools, owner routes and commands. */
export interface Library {
  readonly retrieval: Retrieval;
  readonly documents: DocumentIndex;
  readonly families: readonly ToolFamily[];
}

/**
 * Opens the library. Without an embedding provider, searches use words only, and the family `rag` says what is missing.
 */
export async function openLibrary(context: LibraryContext): Promise<Library> {
  const { config, storage, parsers, logger, onAdded } = context;
  const { maxFileBytes } = config.ingest;
  const { provider, absent } = await openEmbeddings(context);
  const { retrieval, documents } = createRag({
    ...{ library: storage.library, parsers, maxFileBytes, logger, onAdded },
    provider: provider ?? toSentences(absent),
    purge: () => storage.purge(),
    onTokens: billEmbeddings(context),
  });
  const rag: ToolFamily = provider
    ? { name: 'rag', state: 'on', tools: createRagTools(retrieval), note: provider.id }
    : absent;
  const families = [
    knowledgeFamily(context, retrieval),
    searchFamily(context, retrieval),
    webFamily(context),
    { ...rag, close: () => retrieval.close() },
  ];
  return { retrieval, documents, families };
}

/** The provider, or the family `rag` without one, which says why. */
type Embeddings =
  | { readonly provider: EmbeddingProvider; readonly absent?: undefined }
  | { readonly provider?: undefined; readonly absent: ToolFamily };

const NO_EMBEDDINGS: ToolFamily = {
  name: 'rag',
  state: 'off',
  tools: [],
  note: 'no embedding provider is configured, so everything is found by words',
  hint: 'Set embedding.provider.',
};

async function openEmbeddings({ config, secrets, logger }: LibraryContext): Promise<Embeddings> {
  const { embedding, egress } = config;
  const { provider, folder = '', model = '', maxRetries, baseUrl, dimension, timeoutSeconds } = embedding;
  if (provider === 'none') return { absent: NO_EMBEDDINGS };
  if (provider === 'local') {
    try {
      return { provider: await openLocalEmbeddings({ ...embedding, folder }) };
    } catch (error) {
      if (!isLangoError(error)) throw error;
      return { absent: missing('rag', error) };
    }
  }
  const timeoutMs = 1_000 * timeoutSeconds;
  const options = {
    vendor: provider,
    minSimilarity: embedding.minSimilarity,
    ...{ model, maxRetries, dimension, baseUrl, logger },
    apiKey: secrets.embeddingApiKey,
    fetch: createEgress({ ...egress, configuredUrl: baseUrl, timeoutMs, logger }),
  };
  return { provider: createHttpEmbeddings(options) };
}

/** Puts the tokens of embeddings on the bill of the owner of the texts. A model on this machine costs nothing. */
function billEmbeddings(context: LibraryContext): (scope: Scope, tokens: number) => void {
  const { provider, model } = context.config.embedding;
  const bill = backgroundBill(context, { model: `${provider}/${model}`, agent: 'embedding' });
  return (scope, tokens) => {
    if (tokens > 0) bill(scope, [{ ...NO_USAGE, input: tokens }]);
  };
}

function toSentences({ note = '', hint = '' }: ToolFamily): string {
  return `${note.charAt(0).toUpperCase()}${note.slice(1).replace(/\.$/, '')}. ${hint}`;
}

function knowledgeFamily({ config, storage }: LibraryContext, retrieval: Retrieval): ToolFamily {
  const { enabled, maxCharacters } = config.tools.knowledge;
  if (!enabled) return off('knowledge');
  const tools = createKnowledgeTools({ store: storage.knowledge, retrieval, maxCharacters });
  return { name: 'knowledge', state: 'on', tools };
}

function searchFamily({ config }: LibraryContext, retrieval: Retrieval): ToolFamily {
  if (!config.tools.search.enabled) return off('search');
  return { name: 'search', state: 'on', tools: createSearchTools(retrieval) };
}

function webFamily({ config, secrets, logger }: LibraryContext): ToolFamily {
  const name = 'web search';
  const { provider, baseUrl, timeoutSeconds } = config.webSearch;
  if (provider === 'none') {
    const note = 'no provider is configured';
    return { name, state: 'off', tools: [], note, hint: 'Set webSearch.provider.' };
  }
  const tools = createWebSearchTools({
    provider,
    fetch: createEgress({
      ...config.egress,
      configuredUrl: baseUrl,
      timeoutMs: 1_000 * timeoutSeconds,
      logger,
    }),
    baseUrl,
    apiKey: secrets.webSearchApiKey,
  });
  return { name, state: 'on', tools, note: provider };
}

interface DistillerSources {
  readonly config: Config;
  readonly storage: Storage;
  readonly secrets: Secrets;
  /** The model of the program that uses Lango as a library; undefined for the configured one. */
  readonly model: ModelProvider | undefined;
  readonly logger: Logger;
}

/** Starts to extract triples from kept documents; undefined when that is switched off or no model can do it. */
export async function openExtraction(context: DistillerSources): Promise<Extractor | undefined> {
  const { config, storage, logger } = context;
  const { enabled, documents, model, maxCharacters, callsPerHour } = config.graph.extraction;
  if (!config.graph.enabled || !enabled) return undefined;
  const distiller = await openDistiller(context, model, 'graph');
  if (!distiller) return undefined;
  const extractor = new Extractor({
    store: storage.extraction,
    distiller,
    collections: documents
      ? { except: [LEARNINGS_COLLECTION, MEMORY_COLLECTION] }
      : { only: [KNOWLEDGE_COLLECTION] },
    maxCharacters,
    callsPerHour,
    logger,
  });
  extractor.wake();
  return extractor;
}

interface MemoryContext extends DistillerSources {
  readonly retrieval: Retrieval;
}

/** The families that also remember for runs (requirement B3): facts, and observations with reflections. */
export async function openMemory(context: MemoryContext): Promise<readonly ToolFamily[]> {
  return [openFacts(context), await openObservations(context)];
}

function openFacts({ config, storage, retrieval }: MemoryContext): ToolFamily {
  const { enabled, promptTokens } = config.tools.memory;
  if (!enabled) return off('memory');
  return {
    name: 'memory',
    state: 'on',
    tools: createFactTools({ store: storage.knowledge, retrieval }),
    memory: {
      recall: (run) => recallFacts(run, { retrieval, promptTokens }),
      runEnded: () => undefined,
    },
  };
}

async function openObservations(context: MemoryContext): Promise<ToolFamily> {
  const { observationalMemory } = context.config;
  const name = 'observational memory';
  if (!observationalMemory.enabled) return off(name, 'observationalMemory.enabled');
  const { storage, logger } = context;
  const distiller = await openDistiller(context, observationalMemory.model, 'memory');
  const { memory, tasks } = storage;
  const own = createObservationalMemory({ ...observationalMemory, memory, tasks, distiller, logger });
  const note = `noted by ${distiller?.by ?? 'plain rules (offline model)'}`;
  return { name, state: 'on', tools: own.tools, note, memory: own.memory, close: () => own.close() };
}

/**
 * Makes a distiller that asks `modelName`, else the agents' model. Undefined with the offline model, which cannot
 * summarize.
 */
async function openDistiller(
  context: DistillerSources,
  modelName: string | undefined,
  agent: string,
): Promise<Distiller | undefined> {
  const { config, secrets, model, logger } = context;
  if (!model && config.model.provider === 'offline') return undefined;
  const own = { ...config.model, name: modelName ?? config.model.name };
  const asked = model ?? (await createModel(own, { config, secrets, logger }));
  return createDistiller(asked, backgroundBill(context, { model: asked.id, agent }));
}

/** Puts model calls that no task made on the bill of their owner, under the name `agent`. */
function backgroundBill(
  { config, storage, logger }: Pick<LibraryContext, 'config' | 'storage' | 'logger'>,
  { model, agent }: { readonly model: string; readonly agent: string },
): (scope: Scope, usages: readonly Usage[]) => void {
  const meter = meterFor(model, { config, nodeId: storage.nodeId });
  return (scope, usages) => {
    for (const row of usages.flatMap((usage) => toBill(meter, agent, { usage }).rows ?? [])) {
      storage.spending.addBackground(scope, row).catch((error: unknown) => {
        logger.warn('a model call in the background is not on the bill', { error: errorText(error) });
      });
    }
  };
}
