import type { Hit } from '../stores/library.js';
import { textTerms } from './search-terms.js';

/** The terms of a passage: those of its text, and those of its name, headings, category and tags. */
export interface PassageTerms {
  /** The number of occurrences of each term. */
  readonly counts: ReadonlyMap<string, number>;
  /** See `SearchTerms.names`. */
  readonly names: ReadonlySet<string>;
  /** The length of the passage, in terms. */
  readonly length: number;
}

/** A passage with its name, headings, category and tags. */
export type DescribedPassage = Pick<Hit, 'name' | 'heading' | 'facts' | 'text'>;

/** A term of a query. */
export interface QueryTerm {
  /** The weight of the term, as `rarity` computes it. */
  readonly weight: number;
  /** The number of occurrences of the term in a passage. */
  readonly countIn: (terms: PassageTerms) => number;
}

/** The count of a word in the name, a heading, the category or a tag. A word in the text counts 1. */
const TITLE_COUNT = 4;
/** Parameters of BM25: how fast repeated words saturate (k1), and how much long passages are penalized (b). */
const SATURATION = 1.2;
const LENGTH_SHARE = 0.75;
/** The usual length of a passage, in words. Documents are cut into passages of about this length. */
const USUAL_LENGTH = 120;

export function passageTerms({ name, heading, facts, text }: DescribedPassage): PassageTerms {
  const title = textTerms([name, ...heading, facts.category ?? '', ...(facts.tags ?? [])].join('\n'));
  const body = textTerms(text);
  const counts = new Map<string, number>();
  const add = (term: string, count: number) => counts.set(term, (counts.get(term) ?? 0) + count);
  for (const word of title.words) add(word, TITLE_COUNT);
  for (const word of body.words) add(word, 1);
  return { counts, names: new Set([...title.names, ...body.names]), length: body.words.length };
}

/** The inverse document frequency of a term that `count` of `total` passages have. Above 0, and larger for rarer terms. */
export function rarity(count: number, total: number): number {
  const others = Math.max(total - count, 0);
  return Math.log1p((others + 0.5) / (count + 0.5));
}

/** The BM25 score of a passage. 0 if it has none of the terms. */
export function relevance(query: readonly QueryTerm[], passage: PassageTerms): number {
  const long = SATURATION * (1 - LENGTH_SHARE + (LENGTH_SHARE * passage.length) / USUAL_LENGTH);
  return query.reduce((score, { weight, countIn }) => {
    const count = countIn(passage);
    return score + (weight * count * (SATURATION + 1)) / (count + long);
  }, 0);
}
