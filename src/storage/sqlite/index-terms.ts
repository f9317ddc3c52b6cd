import type { PassageTerms } from '../relevance.js';
import { stretchesOf } from '../search-terms.js';

/** A term that a passage has so often is found among those that say more about it. */
const OFTEN = 3;

/** How terms are written in the index: behind the number of their shelf, and by what they are. They hold no "~". */
export const written = {
  word: (shelfId: number, term: string) => `${shelfId}~${term}`,
  /** Of a word that a passage has often, or in what it stands under. */
  often: (shelfId: number, term: string) => `${shelfId}~~~${term}`,
  /** Of a name. */
  stretch: (shelfId: number, stretch: string) => `${shelfId}~~${stretch}`,
} as const;

/** All that a passage is found by, each once. */
export function writtenTerms(shelfId: number, { counts, names }: PassageTerms): string {
  const words = [...counts].flatMap(([term, count]) => [
    written.word(shelfId, term),
    ...(count >= OFTEN ? [written.often(shelfId, term)] : []),
  ]);
  const stretches = new Set([...names].flatMap(stretchesOf));
  return [...words, ...Array.from(stretches, (stretch) => written.stretch(shelfId, stretch))].join(' ');
}
