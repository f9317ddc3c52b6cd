import { errorText, isLangoError, LangoError } from '../../../core/errors.js';
import { KeyedMutex } from '../../../core/keyed-mutex.js';
import type { Logger } from '../../../core/logger.js';
import type { EmbeddingProvider } from '../../../core/model.js';
import { scopeKey, type Scope } from '../../../core/task.js';
import type { EmbeddingProgress } from '../operations.js';
import type { LibraryStore } from '../stores/library-store.js';
import type { CollectionFilter, CollectionRow, Hit } from '../stores/library.js';

interface RetrievalOptions {
  readonly library: LibraryStore;
  /** Undefined for search by words only. */
  readonly embedder: PassageEmbedder | undefined;
  /** Called whenever something was added. Must not throw. */
  readonly onAdded: () => void;
  readonly logger: Logger;
}

interface SearchRequest extends CollectionFilter {
  readonly query: string;
  readonly limit: number;
}

export interface SearchResult {
  /** The best first. */
  readonly hits: readonly Hit[];
  /** A sentence that says why the search was limited; undefined when it was not. */
  readonly note: string | undefined;
}

/** Each search finds this many times the requested results, so that the fusion can choose among them. */
const DEPTH_FACTOR = 4;
const DEPTH_MIN = 20;

/** Searches an owner's stored texts by words and, with an embedding provider, by meaning. */
export class Retrieval {
  readonly #options: RetrievalOptions;

  constructor(options: RetrievalOptions) {
    this.#options = options;
  }

  /** When the embedding provider fails, searches by words only and says so in `note`. */
  async search(scope: Scope, request: SearchRequest, signal: AbortSignal): Promise<SearchResult> {
    const { library, logger } = this.#options;
    const { query, limit, ...filter } = request;
    const depth = Math.max(DEPTH_MIN, limit * DEPTH_FACTOR);
    const [words, { hits, note }] = await Promise.all([
      library.findText(scope, { ...filter, text: query, limit: depth }),
      this.#searchVectors(scope, { ...request, limit: depth }, signal),
    ]);
    if (note !== undefined) logger.warn('searched by words only', { reason: note });
    return { hits: fuse([words, hits], limit), note };
  }

  async #searchVectors(
    scope: Scope,
    { query, limit, ...filter }: SearchRequest,
    signal: AbortSignal,
  ): Promise<SearchResult> {
    const { embedder, library } = this.#options;
    if (!embedder) return { hits: [], note: undefined };
    const { provider } = embedder;
    const collections = await library.collections(scope, filter);
    const withVectors = collections.filter(({ embedded }) => embedded > 0);
    const stale = withVectors.filter(({ model }) => model !== provider.id);
    const note = stale.length === 0 ? undefined : staleVectorsNote(stale, provider);
    const current = withVectors.filter(({ model }) => model === provider.id);
    if (collections.some(({ embedded, passages }) => embedded < passages)) embedder.catchUp(scope);
    if (current.length === 0) return { hits: [], note };
    try {
      const vector = await embedder.embedQuery(scope, query, signal);
      const only = current.map(({ name }) => name);
      const hits = await library.findNear(scope, { vector, model: provider.id, limit, only });
      const minScore = provider.minSimilarity ?? -1;
      return { hits: hits.filter(({ score }) => score >= minScore), note };
    } catch (error) {
      signal.throwIfAborted();
      return { hits: [], note: `Searched by words only: ${errorText(error)}` };
    }
  }

  /** Starts to make vectors and triples for new documents, in the background. */
  catchUp(scope: Scope): void {
    this.#options.embedder?.catchUp(scope);
    this.#options.onAdded();
  }

  async close(): Promise<void> {
    await this.#options.embedder?.close();
  }
}

function staleVectorsNote(stale: readonly CollectionRow[], { id }: EmbeddingProvider): string {
  const names = stale.map(({ name }) => name).join(', ');
  const models = [...new Set(stale.map(({ model }) => model))].join(', ');
  return `Searched by words only in ${names}: the vectors there were computed by ${models}, but ${id} is configured now. To compute them again: lango ingest --reembed`;
}

/** Rank offset of reciprocal rank fusion: the usual value. */
const RANK_OFFSET = 60;

/** Merges lists of hits by reciprocal rank fusion: ranks can be compared, scores of different searches cannot. */
function fuse(lists: readonly (readonly Hit[])[], limit: number): readonly Hit[] {
  const fused = new Map<number, Hit>();
  for (const hits of lists) {
    hits.forEach((hit, index) => {
      const score = (fused.get(hit.id)?.score ?? 0) + 1 / (RANK_OFFSET + index + 1);
      fused.set(hit.id, { ...hit, score });
    });
  }
  return [...fused.values()].sort((a, b) => b.score - a.score || a.id - b.id).slice(0, limit);
}

interface PassageEmbedderOptions {
  readonly library: LibraryStore;
  readonly provider: EmbeddingProvider;
  /** Called with the tokens that the vendor charges for an owner's texts. */
  readonly onTokens: (scope: Scope, tokens: number) => void;
  readonly logger: Logger;
}

/** Computes the missing vectors of passages, one batch at a time for each owner. */
export class PassageEmbedder {
  readonly provider: EmbeddingProvider;
  readonly #options: PassageEmbedderOptions;
  readonly #closing = new AbortController();
  /** Background work, by owner. */
  readonly #working = new Map<string, Promise<unknown>>();
  readonly #batches = new KeyedMutex();

  constructor(options: PassageEmbedderOptions) {
    this.#options = options;
    this.provider = options.provider;
  }

  /** Computes missing vectors in the background. Logs a failure; the next call tries again. */
  catchUp(scope: Scope): void {
    const name = scopeKey(scope);
    if (this.#working.has(name) || this.#closing.signal.aborted) return;
    const { signal } = this.#closing;
    const work = this.embedUntil(scope, Infinity, signal)
      .catch((error: unknown) => {
        if (signal.aborted) return;
        const hint = isLangoError(error) && error.hint !== undefined ? { hint: error.hint } : {};
        this.#options.logger.warn('passages could not be embedded', { error: errorText(error), ...hint });
      })
      .finally(() => this.#working.delete(name));
    this.#working.set(name, work);
  }

  /** Computes vectors until all are done or the time is over. Rejects with the error of the provider or the store. */
  async embedUntil(scope: Scope, untilMs: number, signal: AbortSignal): Promise<EmbeddingProgress> {
    const either = AbortSignal.any([signal, this.#closing.signal]);
    for (let done = 0; ;) {
      const made = await this.#batch(scope, either);
      done += made;
      if (made === 0) return { done, more: false };
      if (Date.now() >= untilMs) return { done, more: true };
    }
  }

  /** Computes the vector of a query. */
  async embedQuery(scope: Scope, query: string, signal: AbortSignal): Promise<Float32Array> {
    const [vector] = await this.provider.embed([query], this.#callFor(scope, 'query', signal));
    return vector!;
  }

  async close(): Promise<void> {
    this.#closing.abort(new LangoError('canceled', 'The server stops.'));
    await Promise.all(this.#working.values());
    await this.provider.close?.();
  }

  /** Runs batches of one owner one after the other: parallel batches would compute the same vectors twice. */
  #batch(scope: Scope, signal: AbortSignal): Promise<number> {
    return this.#batches.run(scopeKey(scope), () => this.#embed(scope, signal));
  }

  async #embed(scope: Scope, signal: AbortSignal): Promise<number> {
    signal.throwIfAborted();
    const { library, provider } = this.#options;
    const passages = await library.unembedded(scope, provider.id, provider.batch);
    if (passages.length === 0) return 0;
    // Document name and headings go before the passage, to give it context.
    const texts = passages.map(({ name, heading, text }) => `${[name, ...heading].join(' > ')}\n\n${text}`);
    const vectors = await provider.embed(texts, this.#callFor(scope, 'document', signal));
    await library.addVectors(scope, provider.id, new Map(passages.map(({ id }, at) => [id, vectors[at]!])));
    return passages.length;
  }

  #callFor(scope: Scope, purpose: 'document' | 'query', signal: AbortSignal) {
    const { onTokens } = this.#options;
    return { purpose, signal, onTokens: (tokens: number) => onTokens(scope, tokens) };
  }
}
