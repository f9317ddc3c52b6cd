/** A word or a quotation of a text, with the punctuation that is attached to it. */
export interface Token {
  readonly start: number;
  readonly end: number;
  /** Lower case, without `, . ; ! ?` at its end. Empty for a quotation. */
  readonly word: string;
  /** The text between the quotes. Undefined for a word. */
  readonly quoted: string | undefined;
}

const CLOSING_QUOTES: Readonly<Record<string, string>> = { '"': '"', "'": "'", '`': '`', '“': '”', '‘': '’' };
/** A longer word is data: it matches no word of a sentence. */
const LONGEST_WORD = 40;

/**
 * Splits a text at white space; a quotation stays one token, whatever it holds. A quote that is never closed is an ordinary
 * character. Takes time in proportion to the length of the text.
 */
export function toTokens(text: string): readonly Token[] {
  const tokens: Token[] = [];
  const unclosed = new Set<string>();
  const words = /\S+/g;
  for (let match = words.exec(text); match; match = words.exec(text)) {
    const start = match.index;
    const closer = CLOSING_QUOTES[text.charAt(start)];
    const quoteEnd =
      closer === undefined || unclosed.has(closer) ? -1 : closingQuote(text, start + 1, closer);
    if (closer !== undefined && quoteEnd === -1) unclosed.add(closer);
    if (quoteEnd === -1) {
      const end = words.lastIndex;
      tokens.push({ start, end, word: plainWord(text, start, end), quoted: undefined });
    } else {
      const end = skipPunctuation(text, quoteEnd + 1);
      tokens.push({ start, end, word: '', quoted: text.slice(start + 1, quoteEnd) });
      words.lastIndex = end;
    }
  }
  return tokens;
}

/** The position of the quote that closes: white space, punctuation or nothing follows it. -1 when there is none. */
function closingQuote(text: string, from: number, closer: string): number {
  for (let at = text.indexOf(closer, from); at !== -1; at = text.indexOf(closer, at + 1)) {
    const after = skipPunctuation(text, at + 1);
    if (after === text.length || /\s/.test(text.charAt(after))) return at;
  }
  return -1;
}

const LONGEST_PUNCTUATION = 4;

function skipPunctuation(text: string, from: number): number {
  let end = from;
  while (end < from + LONGEST_PUNCTUATION && end < text.length && ',.;:!?'.includes(text.charAt(end)))
    end += 1;
  return end;
}

export function plainWord(text: string, start: number, end: number): string {
  if (end - start > LONGEST_WORD) return '';
  let last = end;
  while (last > start && ',.;!?'.includes(text.charAt(last - 1))) last -= 1;
  return text.slice(start, last).toLowerCase();
}
