import type { NewPassage, Provenance } from './library.js';
import type { Scope } from './task.js';

/**
 * What an agent keeps: knowledge under a key, what it learned from something that went wrong, or a single fact that a
 * person wants remembered; the fact's own words are its key.
 */
export type EntryKind = 'knowledge' | 'learning' | 'fact';

export interface NewEntry {
  readonly kind: EntryKind;
  /** Its name; saving it again makes a new version. Of a learning: what triggers it. */
  readonly key: string;
  readonly category: string;
  /** Of a learning: the fix. */
  readonly content: string;
  readonly diagnosis?: string;
  readonly tags: readonly string[];
  readonly provenance: Provenance;
  /** The same key on a repeat of the same call: it makes no second version. */
  readonly callKey: string;
  /** What searches find of it. */
  readonly passages: readonly NewPassage[];
}

/** One version of an entry. */
export interface Entry extends Omit<NewEntry, 'callKey' | 'passages'> {
  /** From 1; the highest is what searches find. */
  readonly version: number;
  /** In milliseconds since the epoch. */
  readonly savedAt: number;
}

export interface EntryId {
  readonly kind: EntryKind;
  readonly key: string;
}

export interface EntryQuery {
  readonly kind: EntryKind;
  readonly limit: number;
  /** The key after which to go on. */
  readonly after?: string;
}

export interface HistoryQuery {
  readonly limit: number;
  /** The version after which to go on. */
  readonly after?: Pick<Entry, 'key' | 'version'>;
}

/**
 * An owner's knowledge, learnings and facts, every version of them. The newest version of each is found by searches of
 * the library, in the collections `knowledge`, `learnings` and `memory`. Keys are the same when they differ only in case or white
 * space. Writes are atomic and resolve after commit; failures reject with code `storage`.
 */
export interface KnowledgeStore {
  /** Resolves with what is kept now under this call: the new version, or the one that the call made before. */
  save(scope: Scope, entry: NewEntry): Promise<Entry>;
  /** The newest version, or the one named. */
  get(scope: Scope, id: EntryId, version?: number): Promise<Entry | undefined>;
  /** Newest first. */
  versions(scope: Scope, id: EntryId, limit: number): Promise<readonly Entry[]>;
  /** The newest version of each, by key. */
  list(scope: Scope, query: EntryQuery): Promise<readonly Entry[]>;
  /** Every version of each, by key and version. */
  history(scope: Scope, kind: EntryKind, query: HistoryQuery): Promise<readonly Entry[]>;
  /** All versions, and what searches find of it. Resolves with how many versions there were. */
  forget(scope: Scope, id: EntryId): Promise<number>;
  /**
   * What stems from this context: entries whose newest version was saved in it, with all versions, and of others the
   * versions that were. Goes in steps between which others get their turn: what is gone stays gone, and asked again it
   * goes on. Resolves with how many versions are gone.
   */
  forgetContext(scope: Scope, contextId: string): Promise<number>;
}
