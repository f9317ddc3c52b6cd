import type { EmbeddingProvider } from '../../../core/model.js';
import { errorText, isLangoError, LangoError } from '../../../core/errors.js';
import type { EmbeddingProgress } from '../operations.js';
import { KeyedMutex } from '../../../core/keyed-mutex.js';
import type { Logger } from '../../../core/logger.js';
import type { LibraryStore } from '../stores/library-store.js';
import { scopeKey, type Scope } from '../../../core/task.js';

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
  async embedQuery(scope: Scope, query: string, signal: AbortSignal): Promise<Float32Array | undefined> {
    const [vector] = await this.provider.embed([query], this.#callFor(scope, 'query', signal));
    return vector;
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
