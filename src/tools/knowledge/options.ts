import type { KnowledgeStore } from '../../core/knowledge.js';
import type { Retrieval } from '../../core/retrieval.js';

export interface KnowledgeOptions {
  readonly store: KnowledgeStore;
  readonly retrieval: Retrieval;
  /** Length of one entry. */
  readonly maxCharacters: number;
}
