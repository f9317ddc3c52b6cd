import type { Triple } from './graph.js';
import type { Shelves } from './library.js';
import type { Scope } from './task.js';

/** A kept document that the graph was not told of yet. */
export interface Unread extends Scope {
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
  next(shelves: Shelves, characters: number): Promise<Unread | undefined>;
  /**
   * Keeps these triples, with the document in this version as their source, and that it was read, at once. False, and
   * nothing is kept, when it was replaced or removed meanwhile.
   */
  done(unread: Unread, triples: readonly Triple[]): Promise<boolean>;
  /** Nothing could be made of it. It is offered again, `READS_MOST` times in all. */
  failed(unread: Unread): Promise<void>;
}

export const READS_MOST = 3;
