import { oneLine } from '../core/text.js';

/**
 * Characters that control a terminal, turn text around, or hide text in text: all that nobody sees but tab, line feed, and
 * what the writing of languages and emoji needs (soft hyphen, joiners, the first variation selectors).
 */
const UNSAFE =
  // eslint-disable-next-line no-misleading-character-class -- each stands for itself
  /(?![\t\n\u00ad\u034f\u180b-\u180d\u200c\u200d\ufe00-\ufe0f])[\p{Cc}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
/** The first of Unicode's pictures of control characters: "␛" stands for escape. */
const PICTURES = 0x2400;
const ELLIPSIS = '…';

/** Makes foreign text safe for a terminal. Line feeds and tabs stay; other characters of `UNSAFE` become visible ones. */
export const safeText = (text: string): string => text.replaceAll('\r', '').replace(UNSAFE, pictureOf);

/** Makes foreign text safe for a terminal, in one line of at most `limit` characters. */
export function safeLine(text: string, limit = Infinity): string {
  const line = oneLine(safeText(text));
  const characters = [...line];
  return characters.length <= limit ? line : characters.slice(0, limit - 1).join('') + ELLIPSIS;
}

/** A value as JSON with each invisible character escaped, for a person to approve. */
export const exactJson = (value: unknown): string => escaped(JSON.stringify(value, null, 2), INVISIBLE);

/** A value as one line of JSON that is safe for a terminal. */
export const jsonLine = (value: unknown): string => escaped(JSON.stringify(value), UNSAFE);

/** Quotes text as one word of a POSIX shell. */
export function shellWord(text: string): string {
  const line = safeLine(text);
  return /^[\w./:@%+=,-]+$/.test(line) ? line : `'${line.replaceAll("'", `'\\''`)}'`;
}

function pictureOf(character: string): string {
  const code = character.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(PICTURES + code);
  return code === 0x7f ? '\u2421' : '\ufffd';
}

/** Escapes the characters of `what` in JSON text. Line feeds stay: they are JSON's own white space. */
function escaped(json: string, what: RegExp): string {
  const escape = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return json.replace(what, (found) => (found === '\n' ? found : found.split('').map(escape).join('')));
}
