/** What a text is found by. The same for what is kept and for what is asked, in every database. */
export interface SearchTerms {
  /** In the order of the text, repeats included. */
  readonly words: readonly string[];
  /** Names such as `parseConfigFile` as one word each: they are found by any stretch of them too. */
  readonly names: readonly string[];
}

/** One word of a question, and the terms that it may be found by. */
export interface QueryWord {
  /** Any of them. */
  readonly terms: readonly string[];
  /** When none of them is known: it may be the beginning of a term, or a stretch of a name. */
  readonly part: string | undefined;
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
/** Most words of most texts: they need none of the rest. */
const PLAIN_WORD = /^[A-Za-z][a-z]*$/;
const NOT_ASCII = /[^\p{ASCII}]/u;
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
/** Of one question. */
const MOST_TERMS = 48;
const STRETCH = 3;

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
  if (!NOT_ASCII.test(text)) return text.toLowerCase();
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
  const names: string[] = [];
  for (const run of runsOf(text)) {
    if (PLAIN_WORD.test(run)) {
      words.push(stem(fold(run).slice(0, LONGEST_TERM)));
      continue;
    }
    for (const piece of run.match(UNSPACED_RUN) ?? []) {
      if (IS_UNSPACED.test(piece)) words.push(...bigrams(fold(piece)));
      else {
        const { terms, whole, isCompound } = toName(piece);
        words.push(...terms);
        if (isCompound) names.push(whole);
      }
    }
  }
  return { words, names };
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
  const words = [...new Map(chosen.map((word) => [word.terms.join(' '), word])).values()];
  let terms = 0;
  return words.filter((word) => (terms += word.terms.length) <= MOST_TERMS);
}

function unspacedWord(piece: string): readonly QueryWord[] {
  return bigrams(fold(piece)).map((term) => ({
    terms: [term],
    part: [...term].length === 1 ? term : undefined,
  }));
}

function spacedWord(piece: string): readonly QueryWord[] {
  const { whole, terms } = toName(piece);
  if (terms.length === 0) return [];
  return [{ terms, part: whole.length >= STRETCH ? whole : undefined }];
}

function runsOf(text: string): readonly string[] {
  return (text.match(RUN) ?? []).map((run) => run.slice(0, LONGEST_RUN));
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

/** Of a name or a part of one: each three characters that follow each other. */
export function stretchesOf(name: string): readonly string[] {
  const characters = [...name];
  return characters.slice(STRETCH - 1).map((_, index) => characters.slice(index, index + STRETCH).join(''));
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
