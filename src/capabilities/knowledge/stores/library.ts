import type { Passage } from '../../../parsing/passages.js';
import type { Scope } from '../../../core/task.js';

/** The origin of kept text. */
export interface Provenance {
  /** An address, a file or a person, as named by the author. */
  readonly source?: string;
  /** Whether the text comes from outside: a document, a page, another agent. */
  readonly fromOutside: boolean;
  /** The task that saved the text; absent for an ingested document. */
  readonly taskId?: string;
  readonly contextId?: string;
}

/** The metadata of a document. */
interface DocumentFacts extends Provenance {
  readonly category?: string;
  readonly tags?: readonly string[];
  /** The version of a kept entry. */
  readonly version?: number;
  /** The problem that a learning is about. */
  readonly diagnosis?: string;
}

export interface NewDocument {
  /** A group of documents, such as those of a project. */
  readonly collection: string;
  /** Identifies the document in its collection: the address of a file, the key of an entry. */
  readonly origin: string;
  /** The name in citations. */
  readonly name: string;
  /** The hash of the content: equal hashes are equal documents. */
  readonly hash: string;
  /** The time of the file in milliseconds since the epoch; 0 without a file. */
  readonly modifiedAt: number;
  readonly bytes: number;
  readonly facts: DocumentFacts;
  readonly passages: readonly Passage[];
}

interface DocumentRecord extends Omit<NewDocument, 'passages'> {
  readonly savedAt: number;
  /** The number of passages. */
  readonly passages: number;
}

/** A passage that a search found. */
export interface Hit extends Passage {
  /** Identifies the passage in all searches. */
  readonly id: number;
  readonly collection: string;
  readonly origin: string;
  readonly name: string;
  readonly facts: DocumentFacts;
  readonly savedAt: number;
  /** Higher is better. Comparable within one search only. */
  readonly score: number;
}

export interface CollectionRecord {
  readonly name: string;
  readonly documents: number;
  readonly passages: number;
  /** The number of passages that have a vector. */
  readonly embedded: number;
  /** Undefined without vectors. */
  readonly embedding: Embedding | undefined;
}

/** Identifies comparable vectors: those of one model with one dimension. */
interface Embedding {
  readonly model: string;
  readonly dimension: number;
}

/** Selects collections: only these, or all except these. */
export interface CollectionFilter {
  readonly only?: readonly string[];
  readonly except?: readonly string[];
}

export interface TextQuery extends CollectionFilter {
  /** Words of a person. There is no query syntax, so any text is valid. */
  readonly text: string;
  readonly limit: number;
}

export interface VectorQuery extends CollectionFilter {
  readonly vector: Float32Array;
  /** Searches only vectors of this model. */
  readonly model: string;
  readonly limit: number;
}

export interface DocumentQuery extends CollectionFilter {
  readonly limit: number;
  /** The `next` of the page before. */
  readonly after?: string;
}

export interface DocumentPage {
  readonly documents: readonly DocumentRecord[];
  readonly next: string | undefined;
}

/** A passage without a vector, with the parts that a vector is made of. */
export type Unembedded = Pick<Hit, 'id' | 'name' | 'heading' | 'text'>;

/** The collections that agents write; documents cannot be ingested into them. */
export const KNOWLEDGE_COLLECTION = 'knowledge';
export const LEARNINGS_COLLECTION = 'learnings';
export const MEMORY_COLLECTION = 'memory';
export const AGENT_COLLECTIONS: readonly string[] = [
  KNOWLEDGE_COLLECTION,
  LEARNINGS_COLLECTION,
  MEMORY_COLLECTION,
];
export const DEFAULT_COLLECTION = 'documents';

export interface SearchRequest extends CollectionFilter {
  readonly query: string;
  readonly limit: number;
}

export interface SearchAnswer {
  /** The best first. */
  readonly hits: readonly Hit[];
  /** A sentence that says why the search was limited; undefined when it was not. */
  readonly note: string | undefined;
}

/** Searches an owner's stored texts by words and, with an embedding provider, by meaning. */
export interface Retrieval {
  /** When the embedding provider fails, searches by words only and says so in `note`. */
  search(scope: Scope, request: SearchRequest, signal: AbortSignal): Promise<SearchAnswer>;
  /** Starts to make vectors and triples for new documents, in the background. */
  catchUp(scope: Scope): void;
  close(): Promise<void>;
}

/** A file to ingest. */
export interface Submission {
  readonly collection: string;
  /** The address of the file. */
  readonly origin: string;
  /** The name in citations. Its extension gives the format. */
  readonly name: string;
  readonly modifiedAt: number;
  readonly content: Buffer;
}

export type Accepted =
  | { readonly outcome: 'added' | 'changed' | 'unchanged'; readonly passages: number }
  /** Nothing was kept, and an earlier document of that origin was removed. */
  | { readonly outcome: 'skipped'; readonly reason: string };

export interface EmbeddingProgress {
  readonly done: number;
  /** Whether there may be more. */
  readonly more: boolean;
  /** A sentence that says why embedding stopped. */
  readonly note: string | undefined;
}

/** Ingests and lists the documents of an owner. */
export interface DocumentIndex {
  /** The largest file that is accepted. */
  readonly maxBytes: number;
  /**
   * Rejects with `timeout` and `too-large` when the file takes too much time or memory to read, and with `too-many` when
   * too many files wait. What was stored of the file before stays.
   */
  submit(scope: Scope, file: Submission, signal: AbortSignal): Promise<Accepted>;
  list(scope: Scope, query: DocumentQuery): Promise<DocumentPage>;
  collections(scope: Scope): Promise<readonly CollectionRecord[]>;
  remove(scope: Scope, collection: string, origins?: readonly string[]): Promise<number>;
  /** Makes missing vectors for a few seconds. */
  embed(scope: Scope, signal: AbortSignal): Promise<EmbeddingProgress>;
  /** Removes the vectors, so that `embed` makes them again. Resolves with their number. */
  dropVectors(scope: Scope, collections: CollectionFilter): Promise<number>;
}
