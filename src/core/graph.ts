import type { CollectionFilter } from './library.js';
import type { Page } from './page.js';
import type { Scope } from './task.js';

/** One statement about the world: SUBJECT stands in the relation PREDICATE to OBJECT. Names, not addresses. */
export interface Triple {
  readonly subject: string;
  readonly predicate: string;
  readonly object: string;
}

export interface NewTriple extends Triple {
  /** Where it comes from ("task 0199…", "knowledge deploy-key", "docs/guide.md"). The same triple may have several. */
  readonly source: string;
  /** Whether it stems from text of outside: a page, a document, another agent. */
  readonly fromOutside: boolean;
  /** The context that it was said in; absent for what was read in a document. */
  readonly contextId?: string;
}

export interface KnownTriple extends Triple {
  /** All of them, the oldest first. */
  readonly sources: readonly string[];
  /** When the newest source said so, in milliseconds since the epoch. */
  readonly at: number;
  /** Whether every source is from outside. */
  readonly fromOutside: boolean;
}

/** What is named must match; what is left out may be anything. */
export interface TriplePattern {
  readonly subject?: string;
  readonly predicate?: string;
  readonly object?: string;
}

export type Direction = 'out' | 'in' | 'both';

export interface EdgeQuery {
  /** From the node: `out` is where it is the subject, `in` where it is the object. */
  readonly direction: Direction;
  /** Undefined: every predicate. */
  readonly predicates: readonly string[] | undefined;
  readonly limit: number;
}

/**
 * An owner's triples. Names are the same when they differ only in case, in white space or in Unicode's
 * compatible forms (see `nameKey`); they are shown as they were first written. Writes resolve after commit; failures
 * reject with code `storage`. Adding is atomic; taking away goes in steps between which others get their turn: what is
 * gone stays gone, and asked again it goes on.
 */
export interface GraphStore {
  /** Adds those that are not known from that source yet; resolves with how many. */
  add(scope: Scope, triples: readonly NewTriple[]): Promise<number>;
  /** Takes away what matches, whatever its sources (everything, for an empty pattern); resolves with how many triples are gone. */
  remove(scope: Scope, pattern: TriplePattern): Promise<number>;
  /** Takes away what this source said; resolves with how many triples no other source states. */
  removeSource(scope: Scope, source: string): Promise<number>;
  /** Takes away what was said in this context; resolves like `removeSource`. */
  forgetContext(scope: Scope, contextId: string): Promise<number>;
  /** Up to `limit` triples that match, in an order that stays the same. */
  find(scope: Scope, pattern: TriplePattern, limit: number): Promise<readonly KnownTriple[]>;
  /**
   * All of them, page by page, by subject; `limit`, at least 1, counts their sources. A triple with more of them comes
   * several times, each time with others. Throws `invalid-input` for an `after` that was no `next`.
   */
  list(scope: Scope, after: string, limit: number): Promise<Page<KnownTriple>>;
  /** The triples at one node, `limit` of each direction at most. */
  edges(scope: Scope, node: string, query: EdgeQuery): Promise<readonly KnownTriple[]>;
}

/** A kept document that the graph was not told of yet. */
export interface UnreadDocument extends Scope {
  readonly id: number;
  readonly name: string;
  /** As much of it as was asked for. */
  readonly text: string;
}

/**
 * Which kept documents the graph was told of. A document that is replaced or removed takes the triples along that were
 * made of it. Writes are atomic and resolve after commit; failures reject with code `storage`.
 */
export interface ExtractionStore {
  /** The next one in these collections, whoever's it is, with passages of `characters` in all at most. */
  next(shelves: CollectionFilter, characters: number): Promise<UnreadDocument | undefined>;
  /**
   * Keeps these triples, with the document in this version as their source, and that it was read, at once. False, and
   * nothing is kept, when it was replaced or removed meanwhile.
   */
  done(unread: UnreadDocument, triples: readonly Triple[]): Promise<boolean>;
  /** Nothing could be made of it. It is offered again, `READS_MOST` times in all. */
  failed(unread: UnreadDocument): Promise<void>;
}

export const READS_MOST = 3;
