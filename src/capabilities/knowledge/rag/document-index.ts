import { hash } from 'node:crypto';
import { isLangoError, LangoError } from '../../../core/errors.js';
import {
  AGENT_COLLECTIONS,
  type Accepted,
  type DocumentIndex,
  type EmbeddingProgress,
  type Submission,
} from '../stores/library.js';
import type { LibraryStore } from '../stores/library-store.js';
import type { Scope } from '../../../core/task.js';
import type { Parsers } from '../../../parsing/parsers.js';
import type { PassageEmbedder } from './passage-embedder.js';

export interface DocumentIndexOptions {
  readonly library: LibraryStore;
  readonly parsers: Parsers;
  /** Without an embedding provider: the reason, as sentences. */
  readonly embedder: PassageEmbedder | string;
  readonly maxBytes: number;
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

export function createDocumentIndex({
  library,
  parsers,
  embedder,
  maxBytes,
  onAdded,
  purge,
}: DocumentIndexOptions): DocumentIndex {
  return {
    maxBytes,
    async submit(scope, file, signal) {
      const accepted = await submit({ library, parsers, signal }, scope, file);
      onAdded();
      return accepted;
    },
    list: (scope, query) => library.list(scope, query),
    collections: (scope) => library.collections(scope),
    async remove(scope, collection, origins) {
      assertCollection(collection);
      const removed = await library.remove(scope, collection, origins);
      if (removed > 0) await purge();
      return removed;
    },
    async embed(scope, signal) {
      if (typeof embedder !== 'string') return embedSome(embedder, scope, signal);
      return { done: 0, more: false, note: `Documents are searched by words only. ${embedder}` };
    },
    async dropVectors(scope, filter) {
      if (typeof embedder !== 'string') return library.dropVectors(scope, filter);
      throw new LangoError('not-supported', embedder);
    },
  };
}

/**
 * Computes some vectors. The documents are stored already, so a failure of the provider becomes a note and can be
 * retried later.
 */
async function embedSome(
  embedder: PassageEmbedder,
  scope: Scope,
  signal: AbortSignal,
): Promise<EmbeddingProgress> {
  try {
    return await embedder.embedUntil(scope, Date.now() + EMBED_MS, signal);
  } catch (error) {
    if (signal.aborted || !isLangoError(error)) throw error;
    return { done: 0, more: false, note: `Not all vectors could be computed: ${error.message}` };
  }
}

interface SubmitContext extends Pick<DocumentIndexOptions, 'library' | 'parsers'> {
  readonly signal: AbortSignal;
}

async function submit(
  { library, parsers, signal }: SubmitContext,
  scope: Scope,
  file: Submission,
): Promise<Accepted> {
  const { collection, origin, name, modifiedAt, content } = file;
  assertCollection(collection);
  for (const [field, value] of Object.entries({ origin, name })) {
    if (value !== '' && value.length <= NAME_MAX_LENGTH) continue;
    throw new LangoError('invalid-input', `${field} must have 1 to ${NAME_MAX_LENGTH} characters.`);
  }
  const reading = await parsers.parse('document', { name, content }, { scope, signal });
  if (reading.problem !== undefined) {
    await library.remove(scope, collection, [origin]);
    return { outcome: 'skipped', reason: reading.problem };
  }
  const outcome = await library.put(scope, {
    ...{ collection, origin, name, modifiedAt },
    hash: hash('sha256', Buffer.concat([Buffer.from(`${READER_VERSION}\n${name}\n`), content]), 'hex'),
    bytes: content.length,
    facts: { fromOutside: true },
    passages: reading.passages,
  });
  return { outcome, passages: reading.passages.length };
}

function assertCollection(name: string): void {
  if (COLLECTION.test(name) && !AGENT_COLLECTIONS.includes(name)) return;
  throw new LangoError(
    'invalid-input',
    `"${name.slice(0, 100)}" is not a valid name for a collection of documents.`,
    {
      hint: `Use lower-case letters, digits, "-" and "_". These names are reserved: ${AGENT_COLLECTIONS.join(', ')}.`,
    },
  );
}
