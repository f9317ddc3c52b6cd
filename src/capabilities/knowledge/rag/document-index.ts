import { hash } from 'node:crypto';
import { isLangoError, LangoError } from '../../../core/errors.js';
import type { Scope } from '../../../core/task.js';
import type { Parsers } from '../../../parsing/parsers.js';
import type { Accepted, EmbeddingProgress, Submission } from '../operations.js';
import type { LibraryStore } from '../stores/library-store.js';
import {
  AGENT_COLLECTIONS,
  type CollectionFilter,
  type DocumentPage,
  type DocumentQuery,
} from '../stores/library.js';
import type { PassageEmbedder } from './passage-embedder.js';

interface DocumentIndexOptions {
  readonly library: LibraryStore;
  readonly parsers: Parsers;
  /** Without an embedding provider: the reason, as sentences. */
  readonly embedder: PassageEmbedder | string;
  /** The largest file that is accepted. */
  readonly maxBytes: number;
  /** Called whenever something was added. Must not throw. */
  readonly onAdded: () => void;
  /** Deletes the remains of removed documents. */
  readonly purge: () => Promise<void>;
}

const COLLECTION = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const NAME_MAX_LENGTH = 4_096;
/** Maximum time that one call computes vectors. */
const EMBED_MS = 3_000;
/** Part of every content hash. Change it with the reader, so that unchanged files are read again. */
const READER_VERSION = 'reading 1';

/** Ingests and lists the documents of an owner. */
export class DocumentIndex {
  readonly #options: DocumentIndexOptions;

  constructor(options: DocumentIndexOptions) {
    this.#options = options;
  }

  get maxBytes(): number {
    return this.#options.maxBytes;
  }

  /**
   * Rejects with `timeout` and `too-large` when the file takes too much time or memory to read, and with `too-many` when
   * too many files wait. What was stored of the file before stays.
   */
  async submit(scope: Scope, file: Submission, signal: AbortSignal): Promise<Accepted> {
    const { library, parsers, onAdded } = this.#options;
    const { collection, origin, name, modifiedAt, content } = file;
    assertCollection(collection);
    for (const [field, value] of Object.entries({ origin, name })) {
      if (value !== '' && value.length <= NAME_MAX_LENGTH) continue;
      throw new LangoError('invalid-input', `${field} must have 1 to ${NAME_MAX_LENGTH} characters.`);
    }
    const reading = await parsers.parse('document', { name, content }, { scope, signal });
    if (reading.problem !== undefined) {
      await library.remove(scope, collection, [origin]);
      onAdded();
      return { outcome: 'skipped', reason: reading.problem };
    }
    const { passages } = reading;
    const outcome = await library.put(scope, {
      ...{ collection, origin, name, modifiedAt, passages },
      hash: hash('sha256', Buffer.concat([Buffer.from(`${READER_VERSION}\n${name}\n`), content]), 'hex'),
      bytes: content.length,
      facts: { fromOutside: true },
    });
    onAdded();
    return { outcome, passages: passages.length };
  }

  list(scope: Scope, query: DocumentQuery): Promise<DocumentPage> {
    return this.#options.library.list(scope, query);
  }

  async remove(scope: Scope, collection: string, origins?: readonly string[]): Promise<number> {
    assertCollection(collection);
    const removed = await this.#options.library.remove(scope, collection, origins);
    if (removed > 0) await this.#options.purge();
    return removed;
  }

  /** Makes missing vectors for a few seconds. A failure of the provider becomes a note: the documents are stored already. */
  async embed(scope: Scope, signal: AbortSignal): Promise<EmbeddingProgress> {
    const { embedder } = this.#options;
    const nothing = { done: 0, more: false };
    if (typeof embedder === 'string')
      return { ...nothing, note: `Documents are searched by words only. ${embedder}` };
    try {
      return await embedder.embedUntil(scope, Date.now() + EMBED_MS, signal);
    } catch (error) {
      if (signal.aborted || !isLangoError(error)) throw error;
      return { ...nothing, note: `Not all vectors could be computed: ${error.message}` };
    }
  }

  /** Removes the vectors, so that `embed` makes them again. Resolves with their number. */
  async dropVectors(scope: Scope, collections: CollectionFilter): Promise<number> {
    const { embedder, library } = this.#options;
    if (typeof embedder !== 'string') return library.dropVectors(scope, collections);
    throw new LangoError('not-supported', embedder);
  }
}

function assertCollection(name: string): void {
  if (COLLECTION.test(name) && !AGENT_COLLECTIONS.includes(name)) return;
  const text = `"${name.slice(0, 100)}" is not a valid name for a collection of documents.`;
  throw new LangoError('invalid-input', text, {
    hint: `Use lower-case letters, digits, "-" and "_". These names are reserved: ${AGENT_COLLECTIONS.join(', ')}.`,
  });
}
