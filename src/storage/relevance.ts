import type { Hit } from '../core/library.js';
import { textTerms } from './search-terms.js';

/** What a passage is found by: its own words and those it stands under. */
export interface PassageTerms {
  /** How often it has each term. */
  readonly counts: ReadonlyMap<string, number>;
  /** See `SearchTerms`; each once. */
  readonly names: ReadonlySet<string>;
  /** In terms. */
  readonly length: number;
}

/** A passage, and what it stands under. */
export type Described = Pick<Hit, 'name' | 'heading' | 'facts' | 'text'>;

/** One thing that a question asks for. */
export interface Wanted {
  /** How much it tells, as `rarity` says. */
  readonly weight: number;
  /** How often a passage has it. */
  readonly countIn: (terms: PassageTerms) => number;
}

/** A word in the name, a heading, the category or a tag says more than one in the text. */
const TITLE_COUNT = 4;
/** Of BM25: how soon more of the same word says nothing more, and how much longer passages count less. */
const SATURATION = 1.2;
const LENGTH_SHARE = 0.75;
/** Passages are cut to be about so long: none has to be counted to know it. */
const USUAL_LENGTH = 120;

export function passageTerms({ name, heading, facts, text }: Described): PassageTerms {
  const title = textTerms([name, ...heading, facts.category ?? '', ...(facts.tags ?? [])].join('\n'));
  const body = textTerms(text);
  const counts = new Map<string, number>();
  const add = (term: string, count: number) => counts.set(term, (counts.get(term) ?? 0) + count);
  for (const word of title.words) add(word, TITLE_COUNT);
  for (const word of body.words) add(word, 1);
  return { counts, names: new Set([...title.names, ...body.names]), length: body.words.length };
}

/** How much it tells that a passage has what `count` of `total` have; above 0. */
export function rarity(count: number, total: number): number {
  const others = Math.max(total - count, 0);
  return Math.log1p((others + 0.5) / (count + 0.5));
}

/** BM25 over the words of a passage and what it stands under. 0 when it has nothing of what is wanted. */
export function relevance(wanted: readonly Wanted[], terms: PassageTerms): number {
  const long = SATURATION * (1 - LENGTH_SHARE + (LENGTH_SHARE * terms.length) / USUAL_LENGTH);
  return wanted.reduce((score, { weight, countIn }) => {
    const count = countIn(terms);
    return score + (weight * count * (SATURATION + 1)) / (count + long);
  }, 0);
}
