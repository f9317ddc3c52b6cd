import type { Config } from '../config/config.js';
import type { Secrets } from '../config/secrets.js';
import type { EmbeddingProvider } from '../core/model.js';
import { isLangoError } from '../core/errors.js';
import type { Logger } from '../core/logger.js';
import type { DocumentIndex, Retrieval } from '../core/library.js';
import type { Storage } from '../core/store.js';
import type { ToolFamily } from '../core/tool.js';
import { openLocalEmbeddings } from '../embeddings/local/provider.js';
import { createOpenaiEmbeddings } from '../embeddings/openai/provider.js';
import { createVoyageEmbeddings } from '../embeddings/voyage/provider.js';
import { createEgress } from '../http/egress.js';
import { createKnowledgeTools } from '../tools/knowledge/index.js';
import { createRag, createRagTools } from '../tools/rag/index.js';
import { createSearchTools, createWebSearchTools } from '../tools/search/index.js';
import { allowedHosts } from './allowed-hosts.js';
import { off } from './family-states.js';

/** What the library is made from. */
export interface LibraryContext {
  readonly config: Config;
  readonly secrets: Secrets;
  readonly storage: Storage;
  readonly logger: Logger;
  /** Told whenever something was added. Must not throw. */
  readonly onAdded?: () => void;
}

/** What keeps and finds knowledge and documents, for tools, routes and commands. */
export interface Library {
  readonly retrieval: Retrieval;
  readonly desk: DocumentIndex;
  readonly families: readonly ToolFamily[];
}

/** Never rejects for want of the embedding provider: the family `rag` says what is missing. */
export async function openLibrary(context: LibraryContext): Promise<Library> {
  const { config, storage, logger, onAdded } = context;
  const opened = await openEmbeddings(context);
  const { maxFileBytes } = config.ingest;
  const { retrieval, desk } = createRag({
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
  return { retrieval, desk, families: [...families, { ...rag, close: () => retrieval.close() }] };
}

/** Why nothing is embedded, and what to do about it. */
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
  const allowPrivate = allowedHosts(egress, baseUrl);
  const options = {
    model,
    maxRetries: embedding.maxRetries,
    fetch: createEgress({ allowPrivate, timeoutMs: 1_000 * timeoutSeconds, logger }),
    logger,
    ...(dimension === undefined ? {} : { dimension }),
    ...(secrets.embeddingApiKey === undefined ? {} : { apiKey: secrets.embeddingApiKey }),
    ...(baseUrl === undefined ? {} : { baseUrl }),
  };
  return {
    provider: provider === 'openai' ? createOpenaiEmbeddings(options) : createVoyageEmbeddings(options),
  };
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
  const allowPrivate = allowedHosts(config.egress, baseUrl);
  const tools = createWebSearchTools({
    provider,
    fetch: createEgress({ allowPrivate, timeoutMs: 1_000 * timeoutSeconds, logger }),
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(secrets.webSearchApiKey === undefined ? {} : { apiKey: secrets.webSearchApiKey }),
  });
  return { name, state: 'on', tools, note: provider };
}
