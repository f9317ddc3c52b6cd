/** A word or a quotation of a text, with the punctuation that is attached to it. */
export interface Token {
  readonly start: number;
  readonly end: number;
  readonly word: string; // Lower case, without `, . ; ! ?` at its end. Empty for a quotation.
  readonly quoted: string | undefined; // The text between the quotes. Undefined for a word.
}

type Element =
  | { readonly type: 'word'; readonly word: string }
  /** Matches one token, which has to end with the suffix. */
  | { readonly type: 'one'; readonly name: string; readonly suffix: string }
  /** Matches all tokens that the elements before and after it leave over, at least one. */
  | { readonly type: 'rest'; readonly name: string };

/** A sentence of the table, ready to be compared with requests. */
export interface Sentence {
  readonly elements: readonly Element[];
  /** The number of fixed words. Of several matching sentences, the one with the most fixed words wins. */
  readonly weight: number;
  readonly isQuestion: boolean;
}

const CLOSING_QUOTES: Readonly<Record<string, string>> = { '"': '"', "'": "'", '`': '`', '“': '”', '‘': '’' };
/** A longer word matches no fixed word of a sentence. */
const MAX_WORD_LENGTH = 40;
const PUNCTUATION = /[,.;:!?]{0,4}/y;

/** Splits a text at white space in linear time. A quotation is one token; a quote that is never closed is a character. */
export function toTokens(text: string): readonly Token[] {
  const tokens: Token[] = [];
  const unclosed = new Set<string>();
  const words = /\S+/g;
  for (let match = words.exec(text); match; match = words.exec(text)) {
    const start = match.index;
    const closer = CLOSING_QUOTES[text.charAt(start)];
    const quoteEnd = closer && !unclosed.has(closer) ? closingQuote(text, start + 1, closer) : -1;
    if (quoteEnd === -1) {
      if (closer) unclosed.add(closer);
      tokens.push({ start, end: words.lastIndex, word: plainWord(match[0]), quoted: undefined });
    } else {
      words.lastIndex = afterPunctuation(text, quoteEnd + 1);
      tokens.push({ start, end: words.lastIndex, word: '', quoted: text.slice(start + 1, quoteEnd) });
    }
  }
  return tokens;
}

/** Finds the closing quote, which stands before white space, punctuation or the end. Returns -1 when there is none. */
function closingQuote(text: string, from: number, closer: string): number {
  for (let at = text.indexOf(closer, from); at !== -1; at = text.indexOf(closer, at + 1)) {
    if (/^\s?$/.test(text.charAt(afterPunctuation(text, at + 1)))) return at;
  }
  return -1;
}

function afterPunctuation(text: string, from: number): number {
  PUNCTUATION.lastIndex = from;
  return from + (PUNCTUATION.exec(text)?.[0].length ?? 0);
}

function plainWord(word: string): string {
  return word.length > MAX_WORD_LENGTH ? '' : word.replace(/[,.;!?]+$/, '').toLowerCase();
}

export function parseSentence(source: string): Sentence {
  const elements = source.replace(/\?$/, '').split(' ').map(toElement);
  const weight = elements.filter(({ type }) => type === 'word').length;
  return { elements, weight, isQuestion: source.endsWith('?') };
}

function toElement(part: string): Element {
  const [, name, dots, suffix = ''] = /^\{(\w+)(\.\.\.)?\}([:,]?)$/.exec(part) ?? [];
  if (name === undefined) return { type: 'word', word: plainWord(part) };
  return dots === undefined ? { type: 'one', name, suffix } : { type: 'rest', name };
}

/** Returns the values of the placeholders when the tokens match the sentence; otherwise undefined. */
export function matchSentence({ elements, isQuestion }: Sentence, text: string, tokens: readonly Token[]) {
  const surplus = tokens.length - elements.length;
  if (surplus < 0) return undefined;
  const values = new Map<string, string>();
  let at = 0;
  for (const element of elements) {
    const first = tokens[at]!;
    if (element.type === 'word' && first.word !== element.word) return undefined;
    if (element.type === 'one') {
      if (!text.endsWith(element.suffix, first.end)) return undefined;
      values.set(element.name, oneValue(text, first));
    }
    if (element.type === 'rest') {
      at += surplus;
      const value =
        surplus === 0 && first.quoted !== undefined ? first.quoted : text.slice(first.start, tokens[at]!.end);
      values.set(element.name, isQuestion && at === tokens.length - 1 ? value.replace(/\?$/, '') : value);
    }
    at += 1;
  }
  return at === tokens.length ? values : undefined;
}

/** The quotation, or the word without the punctuation that ends it in a sentence. A path such as `..` keeps its dots. */
function oneValue(text: string, { start, end, quoted }: Token): string {
  return quoted ?? text.slice(start, end).replace(/(?<=[^\s.,:;!?])[,:;.!?]{1,3}$/, '');
}
