import type { CapabilityContext } from '../../core/capability.js';
import { isLangoError } from '../../core/errors.js';
import { NO_USAGE, type EmbeddingProvider } from '../../core/model.js';
import type { Run } from '../../core/run.js';
import type { Scope } from '../../core/task.js';
import { missing, off, on, type ToolFamily } from '../../core/tool-family.js';
import { PARSERS } from '../../parsing/parsers.js';
import { createHttpEmbeddings } from './embeddings/http.js';
import { openLocalEmbeddings } from './embeddings/local.js';
import { createFactTools, recallFacts } from './facts/index.js';
import { Extractor } from './graph/extractor.js';
import { createGraphTools } from './graph/index.js';
import { ownedKnowledge } from './owned-data.js';
import { documentOperations } from './rag/document-index.js';
import { PassageEmbedder, Retrieval } from './rag/retrieval.js';
import { createKnowledgeTools } from './saving/index.js';
import { createSearchTools, retrieveTool, searchWebTool } from './search/index.js';
import { DEFAULT_MODELS, type KNOWLEDGE_SETTINGS } from './settings.js';
import { openStores, purgeWords, type KnowledgeStores } from './stores.js';
import { COLLECTIONS } from './stores/library.js';

type Context = CapabilityContext<typeof KNOWLEDGE_SETTINGS>;

export type OpenKnowledge = ReturnType<typeof openKnowledge>;

/** The knowledge of a node, or of a data folder. */
export function openKnowledge(context: Context) {
  const { database } = context;
  const stores = openStores(database);
  const purge = () => purgeWords(database);
  let library: ReturnType<typeof openLibrary> | undefined;
  let extractor: Extractor | undefined;
  const open = () => (library ??= openLibrary(context, stores, () => extractor?.wake()));
  return {
    ownedData: ownedKnowledge(stores, purge),
    documents: async () => (await open()).documents,
    async families(): Promise<readonly ToolFamily[]> {
      extractor = await startExtraction(context, stores);
      return familiesOf(context, stores, await open());
    },
    async close() {
      await extractor?.close();
      await (await library?.catch(() => undefined))?.retrieval.close();
    },
  };
}

/** Opens the library. Without an embedding provider, searches use words only, and the family `rag` says what is missing. */
async function openLibrary(context: Context, { library }: KnowledgeStores, onAdded: () => void) {
  const { settings, services, database, logger } = context;
  const provider = await openEmbeddings(context);
  const isOn = 'embed' in provider;
  const onTokens = billEmbeddings(context);
  const embedder = isOn ? new PassageEmbedder({ library, provider, onTokens, logger }) : undefined;
  const retrieval = new Retrieval({ library, embedder, onAdded, logger });
  const documents = documentOperations({
    ...{ library, onAdded, maxBytes: settings.ingest.maxFileBytes },
    embedder: isOn ? embedder! : toSentences(provider),
    parsers: services.require(PARSERS),
    async purge() {
      await purgeWords(database);
      await database.purge();
    },
  });
  const rag = isOn ? { ...on('rag', [retrieveTool(retrieval)]), note: provider.id } : provider;
  return { retrieval, documents, rag };
}

/** Opens the provider. Without one, resolves with the family `rag`, which says why. */
async function openEmbeddings(context: Context): Promise<EmbeddingProvider | ToolFamily> {
  const { settings, createFetch, logger } = context;
  const { embedding } = settings;
  const { provider, apiKey, minSimilarity, maxRetries, baseUrl, dimension, timeoutSeconds } = embedding;
  if (provider === 'none') {
    const note = 'no embedding provider is configured, so everything is found by words';
    return { ...off('rag', 'embedding.provider'), note };
  }
  if (provider === 'local') {
    try {
      return await openLocalEmbeddings(embedding);
    } catch (error) {
      if (!isLangoError(error)) throw error;
      return missing('rag', error);
    }
  }
  const model = embedding.model ?? DEFAULT_MODELS[provider];
  const fetch = createFetch({ configuredUrl: baseUrl, timeoutMs: 1_000 * timeoutSeconds });
  const options = { vendor: provider, model, apiKey, minSimilarity, maxRetries, dimension, baseUrl };
  return createHttpEmbeddings({ ...options, fetch, logger });
}

/** Puts the tokens of embeddings on the bill of the owner of the texts. A model on this machine costs nothing. */
function billEmbeddings({ settings, models }: Context): (scope: Scope, tokens: number) => void {
  const { provider, model = DEFAULT_MODELS[provider] } = settings.embedding;
  return (scope, tokens) => {
    const by = { model: `${provider}/${model}`, agent: 'embedding' };
    if (tokens > 0) models.bill(scope, by, { ...NO_USAGE, input: tokens });
  };
}

function toSentences({ note = '', hint = '' }: ToolFamily): string {
  return `${note.charAt(0).toUpperCase()}${note.slice(1).replace(/\.$/, '')}. ${hint}`;
}

function familiesOf(
  context: Context,
  { knowledge: store, graph }: KnowledgeStores,
  { retrieval, rag }: Awaited<ReturnType<typeof openLibrary>>,
): readonly ToolFamily[] {
  const { settings } = context;
  const { 'tools.knowledge': saving, 'tools.search': search, 'tools.memory': facts } = settings;
  const memory = {
    recall: (run: Run) => recallFacts(run, retrieval, facts.promptTokens),
    runEnded: () => undefined,
  };
  return [
    saving.enabled
      ? on('knowledge', createKnowledgeTools({ ...saving, store, retrieval }))
      : off('knowledge'),
    search.enabled ? on('search', createSearchTools(retrieval)) : off('search'),
    webFamily(context),
    rag,
    settings.graph.enabled ? on('graph', createGraphTools(graph)) : off('graph', 'graph.enabled'),
    facts.enabled ? { ...on('memory', createFactTools({ store, retrieval })), memory } : off('memory'),
  ];
}

function webFamily({ settings, createFetch }: Context): ToolFamily {
  const name = 'web search';
  const { provider, baseUrl, apiKey, timeoutSeconds } = settings.webSearch;
  if (provider === 'none') return { ...off(name, 'webSearch.provider'), note: 'no provider is configured' };
  const fetch = createFetch({ configuredUrl: baseUrl, timeoutMs: 1_000 * timeoutSeconds });
  return { ...on(name, [searchWebTool({ provider, fetch, baseUrl, apiKey })]), note: provider };
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
      ? { except: [COLLECTIONS.learning, COLLECTIONS.fact] }
      : { only: [COLLECTIONS.knowledge] },
  });
  extractor.wake();
  return extractor;
}
