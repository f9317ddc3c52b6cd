import { findQuotations } from './quotes.js';

/** A stretch of a text between white space; a quotation in it is never taken apart. */
export interface Token {
  readonly start: number;
  readonly end: number;
  /** Lower case, without punctuation round it. Empty for a quotation. */
  readonly plain: string;
  /** `plain` without its inflection, so that "creates" is "create". */
  readonly stem: string;
  /** What is between the quotes, when the token is a quotation. */
  readonly quoted: string | undefined;
}

export interface Words {
  readonly text: string;
  readonly tokens: readonly Token[];
}

const OUTER_PUNCTUATION = new Set('.,;:!?()[]"\'`“”‘’…');
/** A longer token is data (base64, a path): its stem is of no use. */
const LONGEST_WORD = 40;
/** Words that ask for the same. */
const SAME: ReadonlyMap<string, string> = new Map(
  Object.entries({
    which: 'what',
    display: 'show',
    print: 'show',
    view: 'show',
    make: 'create',
    remove: 'delete',
    directory: 'folder',
    here: 'there',
  }).map(([word, same]) => [stem(word), stem(same)]),
);
/** They are "what is" and so on. */
const WITH_IS = /^(what|where|who|there|that|it)(?=['’]s$)/;

export function readWords(text: string): Words {
  const quotations = findQuotations(text);
  const tokens: Token[] = [];
  let next = 0;
  let index = 0;
  while (index < text.length) {
    if (isSpace(text, index)) {
      index += 1;
      continue;
    }
    const start = index;
    let quoted: string | undefined;
    let quotationEnd = -1;
    while (index < text.length && !isSpace(text, index)) {
      const quotation = quotations[next];
      if (quotation?.start !== index) {
        index += 1;
        continue;
      }
      if (quotation.start === start) [quoted, quotationEnd] = [quotation.inner, quotation.end];
      next += 1;
      index = quotation.end;
    }
    const isQuotation = quoted !== undefined && isPunctuation(text, quotationEnd, index);
    tokens.push(...unfold(toToken(text, { start, end: index, quoted: isQuotation ? quoted : undefined })));
  }
  return { text, tokens };
}

/** The words of a short text without their inflection. */
export function stemsOf(text: string): readonly string[] {
  return readWords(text).tokens.map((token) => token.stem);
}

/**
 * `word` without the commonest English endings. Crude on purpose: both sides of a comparison go through it, so it
 * only has to bring "create", "creates", "created" and "creating" together.
 */
export function stem(word: string): string {
  if (word.length < 4 || word.length > LONGEST_WORD || !/^[a-z]+$/.test(word)) return word;
  let base = word;
  if (base.endsWith('ies')) base = `${base.slice(0, -3)}y`;
  else if (/(s|x|z|ch|sh)es$/.test(base)) base = base.slice(0, -2);
  else if (/[^s]s$/.test(base)) base = base.slice(0, -1);
  else if (base.length > 5 && base.endsWith('ing')) base = undouble(base.slice(0, -3));
  else if (base.length > 4 && base.endsWith('ed')) base = undouble(base.slice(0, -2));
  return base.length > 3 && base.endsWith('e') ? base.slice(0, -1) : base;
}

/** `text` from one token to another, as it stands. */
export function sliceTokens(words: Words, from: number, to: number): string {
  const first = words.tokens[from];
  const last = words.tokens[to - 1];
  return first && last && from < to ? words.text.slice(first.start, last.end) : '';
}

function toToken(text: string, place: { start: number; end: number; quoted: string | undefined }): Token {
  if (place.quoted !== undefined) return { ...place, plain: '', stem: '' };
  let { start, end } = place;
  while (start < end && OUTER_PUNCTUATION.has(text.charAt(start))) start += 1;
  while (end > start && OUTER_PUNCTUATION.has(text.charAt(end - 1))) end -= 1;
  const plain = text.slice(start, end).toLowerCase();
  return { ...place, plain, stem: stemOf(plain) };
}

/** "what's in" means what "what is in" does. */
function unfold(token: Token): readonly Token[] {
  const [word] = WITH_IS.exec(token.plain) ?? [];
  if (word === undefined) return [token];
  const middle = token.start + word.length;
  return [
    { ...token, end: middle, plain: word, stem: stemOf(word) },
    { ...token, start: middle, plain: 'is', stem: stemOf('is') },
  ];
}

function stemOf(plain: string): string {
  const base = stem(plain);
  return SAME.get(base) ?? base;
}

function undouble(base: string): string {
  return /([bgmnprt])\1$/.test(base) ? base.slice(0, -1) : base;
}

function isSpace(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return code <= 32 || (code >= 128 && /\s/.test(text.charAt(index)));
}

function isPunctuation(text: string, from: number, to: number): boolean {
  for (let index = from; index < to; index += 1) {
    if (!OUTER_PUNCTUATION.has(text.charAt(index))) return false;
  }
  return true;
}
