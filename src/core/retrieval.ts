import type { CollectionRecord, DocumentPage, DocumentQuery, Hit, Shelves } from './library.js';
import type { Scope } from './task.js';

export interface SearchRequest extends Shelves {
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
export interface DocumentDesk {
  /** Size of a file that is taken. */
  readonly maxBytes: number;
  submit(scope: Scope, file: Submission): Promise<Accepted>;
  list(scope: Scope, query: DocumentQuery): Promise<DocumentPage>;
  collections(scope: Scope): Promise<readonly CollectionRecord[]>;
  remove(scope: Scope, collection: string, origins?: readonly string[]): Promise<number>;
  /** Makes some of the vectors that are missing, for a few seconds at most. */
  embed(scope: Scope, signal: AbortSignal): Promise<EmbeddingProgress>;
  /** Forgets the vectors, so that `embed` makes all of them anew. Resolves with how many there were. */
  dropVectors(scope: Scope, shelves: Shelves): Promise<number>;
}
