import type { PassageTerms } from './relevance.js';
import { trigramsOf } from './search-terms.js';

/** A passage that has a term at least this often is also indexed under the `often` form of the term. */
const OFTEN = 3;

/** Makes the forms of a term in the index. Each begins with the id of its collection. A term holds no "~" itself. */
export const indexed = {
  word: (collectionId: number, term: string) => `${collectionId}~${term}`,
  /** A word that a passage has often, or in its name or headings. */
  often: (collectionId: number, term: string) => `${collectionId}~~~${term}`,
  /** A trigram of a name. */
  trigram: (collectionId: number, trigram: string) => `${collectionId}~~${trigram}`,
} as const;

/** Makes the index text of a passage: each of its terms once, in all forms. */
export function indexTextOf(collectionId: number, { counts, names }: PassageTerms): string {
  const words = [...counts].flatMap(([term, count]) => [
    indexed.word(collectionId, term),
    ...(count >= OFTEN ? [indexed.often(collectionId, term)] : []),
  ]);
  const trigrams = new Set([...names].flatMap(trigramsOf));
  return [...words, ...Array.from(trigrams, (trigram) => indexed.trigram(collectionId, trigram))].join(' ');
}
