import type { Config } from '../config/config.js';
import type { Secrets } from '../config/secrets.js';
import { isLangoError } from '../core/errors.js';
import type { DocumentIndex, Retrieval } from '../stores/library.js';
import { KNOWLEDGE_COLLECTION, LEARNINGS_COLLECTION, MEMORY_COLLECTION } from '../stores/library.js';
import type { Logger } from '../core/logger.js';
import type { Distiller, EmbeddingProvider, ModelProvider } from '../core/model.js';
import type { Storage } from '../stores/tasks.js';
import type { ToolFamily } from '../tools/tool-family.js';
import { off } from '../tools/tool-family.js';
import { createHttpEmbeddings } from '../embeddings/http.js';
import { openLocalEmbeddings } from '../embeddings/local.js';
import { createEgress } from '../http/egress.js';
import { createDistiller } from '../models/distiller.js';
import { createFactTools, recallFacts } from '../tools/facts/index.js';
import { Extractor } from '../tools/graph/index.js';
import { createKnowledgeTools } from '../tools/knowledge/index.js';
import { createObservationalMemory } from '../tools/memory/index.js';
import { createRag, createRagTools } from '../tools/rag/index.js';
import { createSearchTools, createWebSearchTools } from '../tools/search/index.js';
import { createModel } from './agents.js';

export interface LibraryContext {
  readonly config: Config;
  readonly secrets: Secrets;
  readonly storage: Storage;
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

/** Opens the library. Without an embedding provider searches go by words, and the family `rag` says what is missing. */
export async function openLibrary(context: LibraryContext): Promise<Library> {
  const { config, storage, logger, onAdded } = context;
  const opened = await openEmbeddings(context);
  const { maxFileBytes } = config.ingest;
  const { retrieval, documents } = createRag({
    ...{ library: storage.library, maxFileBytes, logger },
    provider: 'lack' in opened ? `${sentence(opened.lack.note)} ${opened.lack.hint}` : opened.provider,
    purge: () => storage.purge(),
    ...(onAdded ? { onAdded } : {}),
  });
  const rag: ToolFamily =
    'lack' in opened
      ? { name: 'rag', tools: [], ...opened.lack }
      : { name: 'rag', state: 'on', tools: createRagTools(retrieval), note: opened.provider.id };
  const families = [
    knowledgeFamily(context, retrieval),
    searchFamily(context, retrieval),
    webFamily(context),
  ];
  return { retrieval, documents, families: [...families, { ...rag, close: () => retrieval.close() }] };
}

/** Why there is no embedding provider, and what to do about it. */
interface Lack {
  readonly state: 'off' | 'missing';
  readonly note: string;
  readonly hint: string;
}

const NO_EMBEDDINGS: Lack = {
  state: 'off',
  note: 'no embedding provider is configured, so everything is found by words',
  hint: 'Set embedding.provider.',
};

type Opened = { readonly provider: EmbeddingProvider } | { readonly lack: Lack };

async function openEmbeddings({ config, secrets, logger }: LibraryContext): Promise<Opened> {
  const { embedding, egress } = config;
  const { provider, folder, model = '', baseUrl, dimension, timeoutSeconds } = embedding;
  if (provider === 'none') return { lack: NO_EMBEDDINGS };
  if (provider === 'local') {
    try {
      return { provider: await openLocalEmbeddings({ ...embedding, folder: folder ?? '' }) };
    } catch (error) {
      if (!isLangoError(error)) throw error;
      return { lack: { state: 'missing', note: error.message, hint: error.hint ?? '' } };
    }
  }
  const options = {
    vendor: provider,
    model,
    maxRetries: embedding.maxRetries,
    fetch: createEgress({ ...egress, configuredUrl: baseUrl, timeoutMs: 1_000 * timeoutSeconds, logger }),
    logger,
    ...(dimension === undefined ? {} : { dimension }),
    ...(secrets.embeddingApiKey === undefined ? {} : { apiKey: secrets.embeddingApiKey }),
    ...(baseUrl === undefined ? {} : { baseUrl }),
  };
  return { provider: createHttpEmbeddings(options) };
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, '')}.`;
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
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(secrets.webSearchApiKey === undefined ? {} : { apiKey: secrets.webSearchApiKey }),
  });
  return { name, state: 'on', tools, note: provider };
}

interface DistillerSources {
  readonly config: Config;
  readonly secrets: Secrets;
  /** The model of the program that uses Lango as a library; undefined for the configured one. */
  readonly model: ModelProvider | undefined;
  readonly logger: Logger;
}

export interface ExtractionContext extends DistillerSources {
  readonly storage: Storage;
}

/** Starts to extract triples from kept documents; undefined when that is switched off or no model can do it. */
export async function openExtraction(context: ExtractionContext): Promise<Extractor | undefined> {
  const { config, storage, logger } = context;
  const { enabled, documents, model, maxCharacters, callsPerHour } = config.graph.extraction;
  if (!config.graph.enabled || !enabled) return undefined;
  const distiller = await openDistiller(context, model);
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

export interface MemoryContext extends DistillerSources {
  readonly storage: Storage;
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
  const distiller = await openDistiller(context, observationalMemory.model);
  const own = createObservationalMemory({
    ...observationalMemory,
    memory: storage.memory,
    tasks: storage.tasks,
    distiller,
    logger,
  });
  const note = `noted by ${distiller?.by ?? 'plain rules (offline model)'}`;
  return { name, state: 'on', tools: own.tools, note, memory: own.remembering, close: () => own.close() };
}

/** Makes a distiller that asks `modelName`, else the agents' model. Undefined with the offline model: it cannot sum up. */
async function openDistiller(
  { config, secrets, model, logger }: DistillerSources,
  modelName: string | undefined,
): Promise<Distiller | undefined> {
  if (model) return createDistiller(model);
  if (config.model.provider === 'offline') return undefined;
  const name = modelName ?? config.model.name;
  const own = { ...config.model, ...(name === undefined ? {} : { name }) };
  return createDistiller(await createModel({ ...config, model: own }, secrets, logger));
}
