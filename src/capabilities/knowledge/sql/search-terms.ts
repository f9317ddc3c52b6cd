/** The terms of a text. Stored texts and queries are split in the same way, in every database. */
export interface SearchTerms {
  /** In the order of the text, repeats included. */
  readonly words: readonly string[];
  /** Names such as `parseConfigFile`, each as one word. They are also found by any substring. */
  readonly names: readonly string[];
}

/** A word of a query, with the terms that match it. */
export interface QueryWord {
  /** Alternatives: any of them matches. */
  readonly terms: readonly string[];
  /** Used if no term is known: it may be the prefix of a term, or a substring of a name. */
  readonly part: string | undefined;
}

/** Scripts without spaces between words, and Korean, which attaches particles to words. */
const UNSPACED =
  '\\p{scx=Han}\\p{scx=Hiragana}\\p{scx=Katakana}\\p{scx=Hangul}\\p{scx=Thai}\\p{scx=Lao}\\p{scx=Khmer}\\p{scx=Myanmar}';
const UNSPACED_RUN = new RegExp(`[${UNSPACED}]+|[^${UNSPACED}]+`, 'gu');
const IS_UNSPACED = new RegExp(`^[${UNSPACED}]`, 'u');
/** Words, and names with dots, dashes and underscores inside. */
const RUN = /[\p{L}\p{N}\p{M}_$]+(?:[.-][\p{L}\p{N}\p{M}_$]+)*/gu;
/** The parts of a name such as `parseHTTPHeader2` or `snake_case`. */
const PART = /\p{Lu}+(?!\p{Ll})\p{M}*|\p{Lu}?[\p{Ll}\p{Lo}\p{Lm}\p{Lt}\p{M}]+|\p{Lu}|\p{N}+/gu;
const MARKS = /(?<=[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}]\p{M}*)\p{M}/gu;
/** Matches most words of most texts. They need no further splitting. */
const PLAIN_WORD = /^[A-Za-z][a-z]*$/;
const NOT_ASCII = /[^\p{ASCII}]/u;
/** Letters that Unicode normalization does not decompose. */
const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  ł: 'l',
  þ: 'th',
  ı: 'i',
};
const SPECIAL_LETTERS = /[ßæœøđðłþı]/g;

/** The longest run that is indexed as a whole. Of longer ones, which are data (base64, a hash), only the beginning is. */
const MAX_RUN_LENGTH = 200;
const MAX_TERM_LENGTH = 64;
const MAX_PARTS = 8;
/** The most terms of one query. */
const MAX_QUERY_TERMS = 48;
/** The length of the substrings (trigrams) that names are indexed by. */
const TRIGRAM = 3;

const STOP_WORDS = new Set(
  (
    'a about an and any are as at be been by can could did do does for from had has have how i in into is it its me my ' +
    'of on or our please so some tell that the their them there these this to us was we were what when where which who ' +
    'why will with would you your'
  )
    .split(' ')
    .map(stem),
);

/** Removes differences of case, accents and width: `Café` becomes `cafe`, full-width letters become plain ones. */
function fold(text: string): string {
  if (!NOT_ASCII.test(text)) return text.toLowerCase();
  return text
    .normalize('NFKC')
    .toLowerCase()
    .normalize('NFD')
    .replace(MARKS, '')
    .normalize('NFC')
    .replace(SPECIAL_LETTERS, (letter) => LETTERS[letter]!);
}

/** The terms of a stored text. */
export function textTerms(text: string): SearchTerms {
  const words: string[] = [];
  const names: string[] = [];
  for (const run of runsOf(text)) {
    if (PLAIN_WORD.test(run)) {
      words.push(stem(fold(run).slice(0, MAX_TERM_LENGTH)));
      continue;
    }
    for (const segment of run.match(UNSPACED_RUN) ?? []) {
      if (IS_UNSPACED.test(segment)) words.push(...bigrams(fold(segment)));
      else {
        const { terms, whole, isCompound } = toName(segment);
        words.push(...terms);
        if (isCompound) names.push(whole);
      }
    }
  }
  return { words, names };
}

/** The distinct words of a query, without stop words unless it has no others. */
export function queryWords(text: string): readonly QueryWord[] {
  const all = runsOf(text).flatMap((run) => (run.match(UNSPACED_RUN) ?? []).flatMap(wordsOf));
  const meaningful = all.filter(({ terms }) => !STOP_WORDS.has(terms[0]!));
  const chosen = meaningful.length > 0 ? meaningful : all;
  const words = [...new Map(chosen.map((word) => [word.terms.join(' '), word])).values()];
  let terms = 0;
  return words.filter((word) => (terms += word.terms.length) <= MAX_QUERY_TERMS);
}

function wordsOf(segment: string): readonly QueryWord[] {
  if (IS_UNSPACED.test(segment)) {
    const terms = bigrams(fold(segment));
    return terms.map((term) => ({ terms: [term], part: [...term].length === 1 ? term : undefined }));
  }
  const { whole, terms } = toName(segment);
  if (terms.length === 0) return [];
  return [{ terms, part: whole.length >= TRIGRAM ? whole : undefined }];
}

function runsOf(text: string): readonly string[] {
  return (text.match(RUN) ?? []).map((run) => run.slice(0, MAX_RUN_LENGTH));
}

/**
 * Splits `parseConfigFile`, `parse_config_file` and `parse.config-file` alike: into each part, the whole, and the whole
 * without its first parts, so that `configFile` is a prefix of one of them.
 */
function toName(run: string) {
  const parts = (run.match(PART) ?? []).map((part) => fold(part).slice(0, MAX_TERM_LENGTH));
  const whole = parts.join('').slice(0, MAX_TERM_LENGTH);
  if (parts.length <= 1) return { whole, terms: parts.map(stem), isCompound: false };
  const tails = parts
    .slice(0, MAX_PARTS)
    .map((_, index) => parts.slice(index).join('').slice(0, MAX_TERM_LENGTH));
  return { whole, terms: [...new Set([...tails.slice(0, -1), ...parts.map(stem)])], isCompound: true };
}

function bigrams(text: string): readonly string[] {
  const characters = [...text];
  if (characters.length === 1) return characters;
  return characters.slice(1).map((character, index) => characters[index]! + character);
}

/** The trigrams of a name or a part of one. */
export function trigramsOf(name: string): readonly string[] {
  const characters = [...name];
  return characters.slice(TRIGRAM - 1).map((_, index) => characters.slice(index, index + TRIGRAM).join(''));
}

/** Removes the commonest English endings. Simple rules suffice, because stored texts and queries are stemmed alike. */
function stem(word: string): string {
  if (word.length < 4 || !/^[a-z]+$/.test(word)) return word;
  let rest = word;
  if (rest.endsWith('ies')) rest = `${rest.slice(0, -3)}y`;
  else if (/(?:ss|x|z|ch|sh)es$/.test(rest)) rest = rest.slice(0, -2);
  else if (/[^us]s$/.test(rest)) rest = rest.slice(0, -1);
  if (rest.length > 5 && rest.endsWith('ing')) rest = withoutDouble(rest.slice(0, -3));
  else if (rest.length > 4 && rest.endsWith('ed')) rest = withoutDouble(rest.slice(0, -2));
  return rest.length > 3 && rest.endsWith('e') ? rest.slice(0, -1) : rest;
}

const withoutDouble = (word: string): string => (/([bdgmnprt])\1$/.test(word) ? word.slice(0, -1) : word);
