import type { CollectionFilter } from './library.js';
import type { Page } from '../../../core/page.js';
import type { Scope } from '../../../core/task.js';

/** One statement: SUBJECT has the relation PREDICATE to OBJECT. All three are names. */
export interface Triple {
  readonly subject: string;
  readonly predicate: string;
  readonly object: string;
}

export interface NewTriple extends Triple {
  /** The origin ("task 0199…", "knowledge deploy-key", "docs/guide.md"). A triple may have several. */
  readonly source: string;
  /** Whether the statement comes from outside: a page, a document, another agent. */
  readonly fromOutside: boolean;
  /** The context of the statement; absent for one from a document. */
  readonly contextId?: string;
}

export interface KnownTriple extends Triple {
  /** The oldest first. */
  readonly sources: readonly string[];
  /** The time of the newest source, in milliseconds since the epoch. */
  readonly at: number;
  /** Whether every source is from outside. */
  readonly fromOutside: boolean;
}

/** A member that is absent matches anything. */
export interface TriplePattern {
  readonly subject?: string;
  readonly predicate?: string;
  readonly object?: string;
}

export type Direction = 'out' | 'in' | 'both';

export interface EdgeQuery {
  /** `out`: the node is the subject; `in`: it is the object. */
  readonly direction: Direction;
  /** Undefined for all. */
  readonly predicates: readonly string[] | undefined;
  readonly limit: number;
}

/**
 * An owner's triples. Names with the same `nameKey` are the same name and are shown as first written. Writes resolve
 * after commit and reject with code `storage`. Adding is atomic. Removing runs in steps, so that other work is not held
 * up; when one fails, a repeated call continues.
 */
export interface GraphStore {
  /** Adds the triples that are not known from their source yet, and resolves with their number. */
  add(scope: Scope, triples: readonly NewTriple[]): Promise<number>;
  /** Removes all triples that match, and resolves with their number. An empty pattern matches all. */
  remove(scope: Scope, pattern: TriplePattern): Promise<number>;
  /** Removes a source, and resolves with the number of triples that no other source states. */
  removeSource(scope: Scope, source: string): Promise<number>;
  /** Removes the sources of a context, and resolves like `removeSource`. */
  forgetContext(scope: Scope, contextId: string): Promise<number>;
  /** Finds up to `limit` triples, in a stable order. */
  find(scope: Scope, pattern: TriplePattern, limit: number): Promise<readonly KnownTriple[]>;
  /**
   * Lists all triples in pages, by subject. `limit` counts sources and is at least 1; a triple with more sources comes
   * again with the others. Throws `invalid-input` for an `after` that was not a `next`.
   */
  list(scope: Scope, after: string, limit: number): Promise<Page<KnownTriple>>;
  /** Lists the triples of a node, at most `limit` of each direction. */
  edges(scope: Scope, node: string, query: EdgeQuery): Promise<readonly KnownTriple[]>;
}

/** A kept document that no triples were extracted from yet. */
export interface UnreadDocument extends Scope {
  readonly id: number;
  readonly name: string;
  /** The beginning of the text, as long as asked for. */
  readonly text: string;
}

/**
 * Records which kept documents triples were extracted from. Replacing or removing a document also removes its triples.
 * Writes are atomic, resolve after commit and reject with code `storage`.
 */
export interface ExtractionStore {
  /** The next unread document of any owner in these collections, with at most `characters` of its text. */
  next(collections: CollectionFilter, characters: number): Promise<UnreadDocument | undefined>;
  /**
   * In one transaction, adds the triples with this version of the document as their source and marks it read. False, with
   * nothing written, when the document was replaced or removed meanwhile.
   */
  done(unread: UnreadDocument, triples: readonly Triple[]): Promise<boolean>;
  /** Records a failed extraction. `next` offers a document at most `MAX_EXTRACTION_ATTEMPTS` times. */
  failed(unread: UnreadDocument): Promise<void>;
}

export const MAX_EXTRACTION_ATTEMPTS = 3;

/** Returns one key for all spellings of a name that differ only in case, white space or Unicode form. */
export function nameKey(name: string): string {
  return name.normalize('NFKC').trim().replace(/\s+/gu, ' ').toLowerCase();
}
