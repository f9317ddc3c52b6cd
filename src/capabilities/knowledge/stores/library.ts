import type { Passage } from '../../../parsing/passages.js';

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

export interface DocumentRecord extends Omit<NewDocument, 'passages'> {
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

/** The collections that agents write, by the kind of their entries; documents cannot be ingested into them. */
export const COLLECTIONS = { knowledge: 'knowledge', learning: 'learnings', fact: 'memory' } as const;
export const AGENT_COLLECTIONS: readonly string[] = Object.values(COLLECTIONS);
export const DEFAULT_COLLECTION = 'documents';
