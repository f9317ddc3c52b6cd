import type { Keeping } from '../keeping.js';

export interface KnowledgeOptions extends Keeping {
  /** Length of one entry. */
  readonly maxCharacters: number;
}
