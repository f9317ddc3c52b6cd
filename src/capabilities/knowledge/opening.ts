import type { CapabilityContext } from '../../core/capability.js';
import { isLangoError } from '../../core/errors.js';
import { NO_USAGE, type EmbeddingProvider } from '../../core/model.js';
import type { OwnedData } from '../../core/page.js';
import type { Scope } from '../../core/task.js';
import { missing, off, type ToolFamily } from '../../core/tool-family.js';
import { PARSERS } from '../../parsing/parsers.js';
import { createHttpEmbeddings } from './embeddings/http.js';
import { openLocalEmbeddings } from './embeddings/local.js';
import { createFactTools, recallFacts } from './facts/index.js';
import { Extractor, createGraphTools } from './graph/index.js';
import { ownedKnowledge } from './owned-data.js';
import { createRag, createRagTools } from './rag/index.js';
import { createKnowledgeTools } from './saving/index.js';
import { createSearchTools, createWebSearchTools } from './search/index.js';
import { DEFAULT_OPENAI_EMBEDDING, DEFAULT_VOYAGE_EMBEDDING, type KNOWLEDGE_SETTINGS } from './settings.js';
import { openStores, purgeWords, type KnowledgeStores } from './stores.js';
import {
  KNOWLEDGE_COLLECTION,
  LEARNINGS_COLLECTION,
  MEMORY_COLLECTION,
  type DocumentIndex,
  type Retrieval,
} from './stores/library.js';

type Context = CapabilityContext<typeof KNOWLEDGE_SETTINGS>;

/** The knowledge of a node, or of a data folder. */
export interface OpenKnowledge {
  readonly ownedData: OwnedData;
  documents(): Promise<DocumentIndex>;
  families(): Promise<readonly ToolFamily[]>;
  close(): Promise<void>;
}

export function openKnowledge(context: Context): OpenKnowledge {
  const { database } = context;
  const stores = openStores(database);
  const purge = () => purgeWords(database);
  let library: Promise<Library> | undefined;
  let extractor: Extractor | undefined;
  const open = () => (library ??= openLibrary(context, stores, () => extractor?.wake()));
  return {
    ownedData: ownedKnowledge(stores, purge),
    documents: async () => (await open()).documents,
    async families() {
      extractor = await startExtraction(context, stores);
      const { retrieval, rag } = await open();
      return [
        savingFamily(context, stores, retrieval),
        searchFamily(context, retrieval),
        webFamily(context),
        rag,
        graphFamily(context, stores),
        factFamily(context, stores, retrieval),
      ];
    },
    async close() {
      await extractor?.close();
      await (await library?.catch(() => undefined))?.retrieval.close();
    },
  };
}

interface Library {
  readonly retrieval: Retrieval;
  readonly documents: DocumentIndex;
  readonly rag: ToolFamily;
}

/** Opens the library. Without an embedding provider, searches use words only, and the family `rag` says what is missing. */
async function openLibrary(
  context: Context,
  { library }: KnowledgeStores,
  onAdded: () => void,
): Promise<Library> {
  const { settings, services, database, logger } = context;
  const { provider, absent } = await openEmbeddings(context);
  const { retrieval, documents } = createRag({
    ...{ library, logger, onAdded, maxFileBytes: settings.ingest.maxFileBytes },
    parsers: services.require(PARSERS),
    provider: provider ?? toSentences(absent),
    async purge() {
      await purgeWords(database);
      await database.purge();
    },
    onTokens: billEmbeddings(context),
  });
  const rag: ToolFamily = provider
    ? { name: 'rag', state: 'on', tools: createRagTools(retrieval), note: provider.id }
    : absent;
  return { retrieval, documents, rag };
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

const DEFAULT_MODELS = { openai: DEFAULT_OPENAI_EMBEDDING, voyage: DEFAULT_VOYAGE_EMBEDDING } as const;

async function openEmbeddings({ settings, createFetch, logger }: Context): Promise<Embeddings> {
  const { embedding } = settings;
  const { provider, apiKey, minSimilarity, maxRetries, baseUrl, dimension, timeoutSeconds } = embedding;
  if (provider === 'none') return { absent: NO_EMBEDDINGS };
  if (provider === 'local') {
    try {
      return { provider: await openLocalEmbeddings({ ...embedding, folder: embedding.folder ?? '' }) };
    } catch (error) {
      if (!isLangoError(error)) throw error;
      return { absent: missing('rag', error) };
    }
  }
  const model = embedding.model ?? DEFAULT_MODELS[provider];
  const options = {
    ...{ vendor: provider, model, apiKey, minSimilarity, maxRetries, dimension, baseUrl, logger },
    fetch: createFetch({ configuredUrl: baseUrl, timeoutMs: 1_000 * timeoutSeconds }),
  };
  return { provider: createHttpEmbeddings(options) };
}

/** Puts the tokens of embeddings on the bill of the owner of the texts. A model on this machine costs nothing. */
function billEmbeddings({ settings, models }: Context): (scope: Scope, tokens: number) => void {
  const { provider } = settings.embedding;
  const name =
    settings.embedding.model ??
    (provider === 'openai' || provider === 'voyage' ? DEFAULT_MODELS[provider] : undefined);
  return (scope, tokens) => {
    const by = { model: `${provider}/${name}`, agent: 'embedding' };
    if (tokens > 0) models.bill(scope, by, { ...NO_USAGE, input: tokens });
  };
}

function toSentences({ note = '', hint = '' }: ToolFamily): string {
  return `${note.charAt(0).toUpperCase()}${note.slice(1).replace(/\.$/, '')}. ${hint}`;
}

function savingFamily(
  { settings }: Context,
  { knowledge }: KnowledgeStores,
  retrieval: Retrieval,
): ToolFamily {
  const { enabled, maxCharacters } = settings['tools.knowledge'];
  if (!enabled) return off('knowledge');
  const tools = createKnowledgeTools({ store: knowledge, retrieval, maxCharacters });
  return { name: 'knowledge', state: 'on', tools };
}

function searchFamily({ settings }: Context, retrieval: Retrieval): ToolFamily {
  if (!settings['tools.search'].enabled) return off('search');
  return { name: 'search', state: 'on', tools: createSearchTools(retrieval) };
}

function webFamily({ settings, createFetch }: Context): ToolFamily {
  const name = 'web search';
  const { provider, baseUrl, apiKey, timeoutSeconds } = settings.webSearch;
  if (provider === 'none') {
    const note = 'no provider is configured';
    return { name, state: 'off', tools: [], note, hint: 'Set webSearch.provider.' };
  }
  const fetch = createFetch({ configuredUrl: baseUrl, timeoutMs: 1_000 * timeoutSeconds });
  const tools = createWebSearchTools({ provider, fetch, baseUrl, apiKey });
  return { name, state: 'on', tools, note: provider };
}

function graphFamily({ settings }: Context, { graph }: KnowledgeStores): ToolFamily {
  if (!settings.graph.enabled) return off('graph', 'graph.enabled');
  return { name: 'graph', state: 'on', tools: createGraphTools(graph) };
}

function factFamily({ settings }: Context, { knowledge }: KnowledgeStores, retrieval: Retrieval): ToolFamily {
  const { enabled, promptTokens } = settings['tools.memory'];
  if (!enabled) return off('memory');
  return {
    name: 'memory',
    state: 'on',
    tools: createFactTools({ store: knowledge, retrieval }),
    memory: {
      recall: (run) => recallFacts(run, { retrieval, promptTokens }),
      runEnded: () => undefined,
    },
  };
}

/** Starts to extract triples from kept documents; undefined when that is switched off or no model can do it. */
async function startExtraction(
  { settings, models, logger }: Context,
  { extraction: store }: KnowledgeStores,
): Promise<Extractor | undefined> {
  const { enabled, documents, model, maxCharacters, callsPerHour } = settings.graph.extraction;
  if (!settings.graph.enabled || !enabled) return undefined;
  const distiller = await models.distiller(model, 'graph');
  if (!distiller) return undefined;
  const extractor = new Extractor({
    ...{ store, distiller, maxCharacters, callsPerHour, logger },
    collections: documents
      ? { except: [LEARNINGS_COLLECTION, MEMORY_COLLECTION] }
      : { only: [KNOWLEDGE_COLLECTION] },
  });
  extractor.wake();
  return extractor;
}
