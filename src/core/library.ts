import type { Scope } from './task.js';

/** Where kept text comes from. */
export interface Provenance {
  /** As the one who saved it named it: an address, a file, a person. */
  readonly source?: string;
  /** Whether it stems from text of outside: a document, a page, another agent. */
  readonly fromOutside: boolean;
  /** The task that saved it; absent for what a person ingested. */
  readonly taskId?: string;
  readonly contextId?: string;
}

/** What may be said of a document besides its text. */
export interface DocumentFacts extends Provenance {
  readonly category?: string;
  readonly tags?: readonly string[];
  /** Of a kept entry: which version of its key this is. */
  readonly version?: number;
  /** Of a learning: what it was about. */
  readonly diagnosis?: string;
}

/** A stretch of a document that is found as a whole. */
export interface NewPassage {
  readonly text: string;
  /** Where it stands in the document's text, in UTF-16 code units. */
  readonly start: number;
  readonly end: number;
  /** Its lines, counted from 1; undefined when the text is not what a person sees in the file (HTML, PDF). */
  readonly lines: readonly [first: number, last: number] | undefined;
  /** The headings above it, outermost first. */
  readonly heading: readonly string[];
}

export interface NewDocument {
  /** Collections keep documents apart: those of a project, of a team. */
  readonly collection: string;
  /** What identifies it in its collection: the address of the file, the key of an entry. */
  readonly origin: string;
  /** How it is cited. */
  readonly name: string;
  /** Of its content: the same hash is the same document. */
  readonly hash: string;
  /** Of the file, in milliseconds since the epoch; 0 for what is no file. */
  readonly modifiedAt: number;
  readonly bytes: number;
  readonly facts: DocumentFacts;
  readonly passages: readonly NewPassage[];
}

export interface DocumentRecord extends Omit<NewDocument, 'passages'> {
  readonly savedAt: number;
  /** How many. */
  readonly passages: number;
}

/** A passage that a search found. */
export interface Hit extends NewPassage {
  /** The same passage has the same id in every search. */
  readonly id: number;
  readonly collection: string;
  readonly origin: string;
  readonly name: string;
  readonly facts: DocumentFacts;
  readonly savedAt: number;
  /** Higher is better; comparable within one search only. */
  readonly score: number;
}

export interface CollectionRecord {
  readonly name: string;
  readonly documents: number;
  readonly passages: number;
  /** Passages that have a vector. */
  readonly embedded: number;
  /** The embedding model of its vectors, and their dimension; undefined when there are none. */
  readonly embedding: Embedding | undefined;
}

/** What vectors were made by: those of different ones cannot be compared. */
interface Embedding {
  readonly model: string;
  readonly dimension: number;
}

/** Which collections: those named, or all but those left out. */
export interface CollectionFilter {
  readonly only?: readonly string[];
  readonly except?: readonly string[];
}

export interface TextQuery extends CollectionFilter {
  /** A person's words: no syntax, nothing in it can be wrong. */
  readonly text: string;
  readonly limit: number;
}

export interface VectorQuery extends CollectionFilter {
  readonly vector: Float32Array;
  /** Only vectors of this model are looked at. */
  readonly model: string;
  readonly limit: number;
}

export interface DocumentQuery extends CollectionFilter {
  readonly limit: number;
  /** What the page before gave as `next`. */
  readonly after?: string;
}

export interface DocumentPage {
  readonly documents: readonly DocumentRecord[];
  readonly next: string | undefined;
}

/** A passage that has no vector yet, with what one is made of. */
export type Unembedded = Pick<Hit, 'id' | 'name' | 'heading' | 'text'>;

/**
 * An owner's documents with their passages, the index of their words and their vectors: removing a document removes
 * all of it. Writes are atomic and resolve after commit; failures reject with code `storage`.
 */
export interface LibraryStore {
  /** Adds the document, or takes the place of the one with its origin. One with the same hash keeps its passages. */
  put(scope: Scope, document: NewDocument): Promise<'added' | 'changed' | 'unchanged'>;
  /**
   * Resolves with how many are gone. Without origins: the whole collection. Each document goes whole; with many it goes
   * in steps between which others get their turn, and asked again it goes on.
   */
  remove(scope: Scope, collection: string, origins?: readonly string[]): Promise<number>;
  list(scope: Scope, query: DocumentQuery): Promise<DocumentPage>;
  collections(scope: Scope): Promise<readonly CollectionRecord[]>;
  /** By words, the best first. Words in nearly every passage tell nothing: with no others, the newest come first. */
  findText(scope: Scope, query: TextQuery): Promise<readonly Hit[]>;
  /** By the angle to `vector`, the nearest first. Rejects with `conflict` when its dimension is another. */
  findNear(scope: Scope, query: VectorQuery): Promise<readonly Hit[]>;
  /** Passages without a vector, in collections that have none of another model than `model`. */
  unembedded(scope: Scope, model: string, limit: number): Promise<readonly Unembedded[]>;
  /**
   * Keeps vectors of length 1 by the id of their passage; passages that are gone meanwhile are passed over. Rejects
   * with `conflict`, and keeps none, when the collection has vectors of another model or dimension.
   */
  addVectors(scope: Scope, model: string, vectors: ReadonlyMap<number, Float32Array>): Promise<void>;
  /** Forgets all vectors, so that they can be made anew. Resolves with how many; it goes in steps like `remove`. */
  dropVectors(scope: Scope, shelves: CollectionFilter): Promise<number>;
}

/** The collections of what agents keep; documents cannot be ingested into them. */
export const KNOWLEDGE_COLLECTION = 'knowledge';
export const LEARNINGS_COLLECTION = 'learnings';
export const MEMORY_COLLECTION = 'memory';
export const KEPT_BY_AGENTS: readonly string[] = [
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
  /** Why the answer may be worse than it could be, as a sentence; undefined when nothing is wrong. */
  readonly note: string | undefined;
}

/** Finds what an owner keeps, by words and, with an embedding provider, by meaning; both are fused. */
export interface Retrieval {
  /** Never fails for want of the embedding provider: it searches by words then, and says so. */
  search(scope: Scope, request: SearchRequest, signal: AbortSignal): Promise<SearchAnswer>;
  /** Something was added: what is made of it is made later, in the background: vectors, and triples. */
  catchUp(scope: Scope): void;
  close(): Promise<void>;
}

/** A file as it is handed in to be kept. */
export interface Submission {
  readonly collection: string;
  /** The address of the file. */
  readonly origin: string;
  /** How it is cited; its ending says what it is. */
  readonly name: string;
  readonly modifiedAt: number;
  readonly content: Buffer;
}

export type Accepted =
  | { readonly outcome: 'added' | 'changed' | 'unchanged'; readonly passages: number }
  /** Kept nothing of it; a document that stood there before is gone. */
  | { readonly outcome: 'skipped'; readonly reason: string };

export interface EmbeddingProgress {
  readonly done: number;
  /** Whether there may be more to do. */
  readonly more: boolean;
  /** Why nothing more is done, as a sentence. */
  readonly note: string | undefined;
}

/** Where documents are handed in. Everything in it belongs to the caller's owner. */
export interface DocumentIndex {
  /** Size of a file that is taken. */
  readonly maxBytes: number;
  submit(scope: Scope, file: Submission): Promise<Accepted>;
  list(scope: Scope, query: DocumentQuery): Promise<DocumentPage>;
  collections(scope: Scope): Promise<readonly CollectionRecord[]>;
  remove(scope: Scope, collection: string, origins?: readonly string[]): Promise<number>;
  /** Makes some of the vectors that are missing, for a few seconds at most. */
  embed(scope: Scope, signal: AbortSignal): Promise<EmbeddingProgress>;
  /** Forgets the vectors, so that `embed` makes all of them anew. Resolves with how many there were. */
  dropVectors(scope: Scope, shelves: CollectionFilter): Promise<number>;
}
