import { hash } from 'node:crypto';
import { isLangoError, LangoError } from '../../../core/errors.js';
import type { OperationHandlers } from '../../../core/operation.js';
import type { Parsers } from '../../../parsing/parsers.js';
import type { KNOWLEDGE_OPERATIONS } from '../operations.js';
import type { LibraryStore } from '../stores/library-store.js';
import { AGENT_COLLECTIONS } from '../stores/library.js';
import type { PassageEmbedder } from './retrieval.js';

interface DocumentOptions {
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

const DOCUMENTS_PER_PAGE = 500;
const COLLECTION = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const NAME_MAX_LENGTH = 4_096;
/** Maximum time that one call computes vectors. */
const EMBED_MS = 3_000;
/** Part of every content hash. Change it with the reader, so that unchanged files are read again. */
const READER_VERSION = 'reading 1';

/** Ingests and lists the documents of an owner. */
export function documentOperations(options: DocumentOptions): OperationHandlers<typeof KNOWLEDGE_OPERATIONS> {
  const { library, parsers, embedder, maxBytes, onAdded, purge } = options;
  return {
    async listDocuments({ collection: only, after }, { scope }) {
      const collections = only === undefined ? { except: AGENT_COLLECTIONS } : { only };
      const query = { ...collections, after, limit: DOCUMENTS_PER_PAGE };
      const { items: documents, next } = await library.list(scope, query);
      return { documents, next, maxBytes };
    },
    /**
     * Rejects with `timeout` and `too-large` when the file takes too much time or memory to read, and with `too-many` when
     * too many files wait. What was stored of the file before stays.
     */
    async submitDocument({ collection, origin, name, modifiedAt, content }, { scope, signal }) {
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
    },
    async removeDocuments({ collection, all, origins }, { scope }) {
      assertCollection(collection);
      const removed = await library.remove(scope, collection, all ? undefined : origins);
      if (removed > 0) await purge();
      return { removed };
    },
    /** Makes missing vectors for a few seconds. A failure of the provider becomes a note: the documents are stored already. */
    async updateVectors({ action, collections: only }, { scope, signal }) {
      const isDrop = action === 'drop-vectors';
      if (typeof embedder === 'string') {
        if (isDrop) throw new LangoError('not-supported', embedder);
        return { note: `Documents are searched by words only. ${embedder}` };
      }
      if (isDrop) return { dropped: await library.dropVectors(scope, { only }) };
      try {
        return await embedder.embedUntil(scope, Date.now() + EMBED_MS, signal);
      } catch (error) {
        if (signal.aborted || !isLangoError(error)) throw error;
        return { note: `Not all vectors could be computed: ${error.message}` };
      }
    },
  };
}

function assertCollection(name: string): void {
  if (COLLECTION.test(name) && !AGENT_COLLECTIONS.includes(name)) return;
  const text = `"${name.slice(0, 100)}" is not a valid name for a collection of documents.`;
  throw new LangoError('invalid-input', text, {
    hint: `Use lower-case letters, digits, "-" and "_". These names are reserved: ${AGENT_COLLECTIONS.join(', ')}.`,
  });
}
