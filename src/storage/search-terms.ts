/** What a text is found by. The same for what is kept and for what is asked, in every database. */
export interface SearchTerms {
  /** In the order of the text, repeats included. */
  readonly words: readonly string[];
  /** Of each name such as `parseConfigFile`: its stretches of three characters, in order. */
  readonly fragments: readonly (readonly string[])[];
}

/** One word of a question, and the terms that it may be found by. */
export interface QueryWord {
  /** Any of them. */
  readonly terms: readonly string[];
  /** Further ways when none of them is known: as the beginning of a term, as a part of a name. */
  readonly beginning: string | undefined;
  readonly fragments: readonly string[];
}

/** Scripts that write words without spaces between them, and Korean, which glues its particles to them. */
const UNSPACED =
  '\\p{scx=Han}\\p{scx=Hiragana}\\p{scx=Katakana}\\p{scx=Hangul}\\p{scx=Thai}\\p{scx=Lao}\\p{scx=Khmer}\\p{scx=Myanmar}';
const UNSPACED_RUN = new RegExp(`[${UNSPACED}]+|[^${UNSPACED}]+`, 'gu');
const IS_UNSPACED = new RegExp(`^[${UNSPACED}]`, 'u');
/** Words, and names with dots, dashes and underscores inside. */
const RUN = /[\p{L}\p{N}\p{M}_$]+(?:[.-][\p{L}\p{N}\p{M}_$]+)*/gu;
/** Where a name such as `parseHTTPHeader2` or `snake_case` falls into parts. */
const PART = /\p{Lu}+(?!\p{Ll})\p{M}*|\p{Lu}?[\p{Ll}\p{Lo}\p{Lm}\p{Lt}\p{M}]+|\p{Lu}|\p{N}+/gu;
const MARKS = /(?<=[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}]\p{M}*)\p{M}/gu;
/** Letters that Unicode does not take apart. */
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

/** A longer run is data (base64, a hash, a URL's tail): its beginning is enough. */
const LONGEST_RUN = 200;
const LONGEST_TERM = 64;
const MOST_PARTS = 8;
const FRAGMENT = 3;

const STOP_WORDS = new Set(
  (
    'a about an and any are as at be been by can could did do does for from had has have how i in into is it its me my ' +
    'of on or our please so some tell that the their them there these this to us was we were what when where which who ' +
    'why will with would you your'
  )
    .split(' ')
    .map(stem),
);

/** A name without what only typography tells apart: `Café` is `cafe`, full-width letters are plain ones. */
function fold(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .normalize('NFD')
    .replace(MARKS, '')
    .normalize('NFC')
    .replace(SPECIAL_LETTERS, (letter) => LETTERS[letter]!);
}

/** The terms of a text that is kept. */
export function textTerms(text: string): SearchTerms {
  const words: string[] = [];
  const fragments: (readonly string[])[] = [];
  for (const run of runsOf(text)) {
    for (const piece of run.match(UNSPACED_RUN) ?? []) {
      if (IS_UNSPACED.test(piece)) words.push(...bigrams(fold(piece)));
      else {
        const name = toName(piece);
        words.push(...name.terms);
        if (name.isCompound) fragments.push(trigrams(name.whole));
      }
    }
  }
  return { words, fragments };
}

/** The words of a question without those that tell nothing, unless there are no others; each once. */
export function queryWords(text: string): readonly QueryWord[] {
  const all = runsOf(text).flatMap((run) =>
    (run.match(UNSPACED_RUN) ?? []).flatMap((piece) =>
      IS_UNSPACED.test(piece) ? unspacedWord(piece) : spacedWord(piece),
    ),
  );
  const telling = all.filter(({ terms }) => !STOP_WORDS.has(terms[0]!));
  const chosen = telling.length > 0 ? telling : all;
  return [...new Map(chosen.map((word) => [word.terms.join(' '), word])).values()].slice(0, MOST_WORDS);
}

const MOST_WORDS = 32;

function unspacedWord(piece: string): readonly QueryWord[] {
  const terms = bigrams(fold(piece));
  return terms.map((term) => ({
    terms: [term],
    beginning: [...term].length === 1 ? term : undefined,
    fragments: [],
  }));
}

function spacedWord(piece: string): readonly QueryWord[] {
  const { whole, terms } = toName(piece);
  if (terms.length === 0) return [];
  const isLong = whole.length >= FRAGMENT;
  return [{ terms, beginning: isLong ? whole : undefined, fragments: isLong ? trigrams(whole) : [] }];
}

function runsOf(text: string): readonly string[] {
  return Array.from(text.matchAll(RUN), ([run]) => run.slice(0, LONGEST_RUN));
}

/**
 * `parseConfigFile`, `parse_config_file` and `parse.config-file` alike: each part, the whole, and the whole without its
 * first parts, so that `configFile` begins one of them.
 */
function toName(run: string): {
  readonly whole: string;
  readonly terms: readonly string[];
  readonly isCompound: boolean;
} {
  const parts = (run.match(PART) ?? []).map((part) => fold(part).slice(0, LONGEST_TERM));
  const whole = parts.join('').slice(0, LONGEST_TERM);
  if (parts.length <= 1) return { whole, terms: parts.map(stem), isCompound: false };
  const tails = parts
    .slice(0, MOST_PARTS)
    .map((_, index) => parts.slice(index).join('').slice(0, LONGEST_TERM));
  return { whole, terms: [...new Set([...tails.slice(0, -1), ...parts.map(stem)])], isCompound: true };
}

function bigrams(text: string): readonly string[] {
  const characters = [...text];
  if (characters.length === 1) return characters;
  return characters.slice(1).map((character, index) => characters[index]! + character);
}

function trigrams(text: string): readonly string[] {
  const characters = [...text];
  return characters.slice(FRAGMENT - 1).map((_, index) => characters.slice(index, index + FRAGMENT).join(''));
}

/** Without the commonest English endings. Crude on purpose: both sides of a comparison go through it. */
function stem(word: string): string {
  if (word.length < 4 || !/^[a-z]+$/.test(word)) return word;
  let rest = word;
  if (rest.endsWith('ies')) rest = `${rest.slice(0, -3)}y`;
  else if (/(?:ss|x|z|ch|sh)es$/.test(rest)) rest = rest.slice(0, -2);
  else if (/[^us]s$/.test(rest)) rest = rest.slice(0, -1);
  if (rest.length > 5 && rest.endsWith('ing')) rest = undoubled(rest.slice(0, -3));
  else if (rest.length > 4 && rest.endsWith('ed')) rest = undoubled(rest.slice(0, -2));
  return rest.length > 3 && rest.endsWith('e') ? rest.slice(0, -1) : rest;
}

function undoubled(word: string): string {
  return /([bdgmnprt])\1$/.test(word) ? word.slice(0, -1) : word;
}
