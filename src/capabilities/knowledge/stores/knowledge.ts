import type { Passage } from '../../../parsing/passages.js';
import type { Provenance } from './library.js';
import type { Scope } from '../../../core/task.js';

/**
 * `knowledge` is stored under a key. A `learning` is the fix of a problem. A `fact` is a statement that a person wants to be
 * remembered; its text is its key.
 */
export type EntryKind = 'knowledge' | 'learning' | 'fact';

export interface NewEntry {
  readonly kind: EntryKind;
  /** The name, or the trigger of a learning. Saving under the same key makes a new version. */
  readonly key: string;
  readonly category: string;
  /** The text, or the fix of a learning. */
  readonly content: string;
  readonly diagnosis?: string;
  readonly tags: readonly string[];
  readonly provenance: Provenance;
  /** The idempotency key of the call: a repeat makes no second version. */
  readonly callKey: string;
  /** The passages that searches find. */
  readonly passages: readonly Passage[];
}

/** One version of an entry. */
export interface Entry extends Omit<NewEntry, 'callKey' | 'passages'> {
  /** Counts from 1. Searches find the highest. */
  readonly version: number;
  /** Milliseconds since the epoch. */
  readonly savedAt: number;
}

export interface EntryId {
  readonly kind: EntryKind;
  readonly key: string;
}

export interface EntryQuery {
  readonly kind: EntryKind;
  readonly limit: number;
  /** The last key of the page before. */
  readonly after?: string;
}

export interface HistoryQuery {
  readonly limit: number;
  /** The last version of the page before. */
  readonly after?: Pick<Entry, 'key' | 'version'>;
}

/**
 * An owner's knowledge, learnings and facts with all versions. Searches of the library find the newest version of each,
 * in the collections `knowledge`, `learnings` and `memory`. Keys with the same `nameKey` are the same key. Writes are
 * atomic, resolve after commit and reject with code `storage`.
 */
export interface KnowledgeStore {
  /** Resolves with the new version, or with the version that this call made before. */
  save(scope: Scope, entry: NewEntry): Promise<Entry>;
  /** Returns the newest version, or the given one. */
  get(scope: Scope, id: EntryId, version?: number): Promise<Entry | undefined>;
  /** Lists the versions of an entry, the newest first. */
  versions(scope: Scope, id: EntryId, limit: number): Promise<readonly Entry[]>;
  /** Lists the newest version of each entry, by key. */
  list(scope: Scope, query: EntryQuery): Promise<readonly Entry[]>;
  /** Lists every version of each entry, by key and version. */
  history(scope: Scope, kind: EntryKind, query: HistoryQuery): Promise<readonly Entry[]>;
  /** Removes all versions of an entry and its passages. Resolves with the number of versions. */
  forget(scope: Scope, id: EntryId): Promise<number>;
  /**
   * Removes what was saved in a context: all versions of an entry whose newest version was, and single versions of others.
   * Runs in steps, so that other work is not held up; when one fails, a repeated call continues. Resolves with the number
   * of versions.
   */
  forgetContext(scope: Scope, contextId: string): Promise<number>;
}
