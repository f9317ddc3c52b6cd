import { oneLine } from '../core/text.js';

/** Characters that can control a terminal or reverse text: control characters but tab and line feed, and direction marks. */
const UNSAFE =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
/** The first of Unicode's pictures of control characters: "␛" stands for escape. */
const PICTURES = 0x2400;
const ELLIPSIS = '…';

/** Makes foreign text safe for a terminal. Line feeds and tabs stay; other control characters become visible ones. */
export function safeText(text: string): string {
  return text.replaceAll('\r', '').replace(UNSAFE, pictureOf);
}

/** Makes foreign text safe for a terminal, in one line of at most `limit` characters. */
export function safeLine(text: string, limit = Infinity): string {
  const line = oneLine(safeText(text));
  const characters = [...line];
  return characters.length <= limit ? line : characters.slice(0, limit - 1).join('') + ELLIPSIS;
}

/** A value as JSON with each invisible character escaped, for a person to approve. */
export function exactJson(value: unknown): string {
  return escaped(JSON.stringify(value, null, 2), INVISIBLE);
}

/** A value as one line of JSON that is safe for a terminal. */
export function jsonLine(value: unknown): string {
  return escaped(JSON.stringify(value), UNSAFE);
}

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
  return json.replace(what, (character) =>
    character === '\n'
      ? character
      : [...Array(character.length).keys()]
          .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`)
          .join(''),
  );
}
