import { oneLine } from '../core/text.js';

/** What could drive a terminal or turn text around: control characters except tab and line feed, and direction marks. */
const UNSAFE =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu;
/** Unicode's pictures of the control characters begin here: "␛" stands for escape. */
const PICTURES = 0x2400;
const ELLIPSIS = '…';

/** Text from elsewhere, for a terminal: lines and tabs are kept, whatever else is not a visible character is shown as one. */
export function safeText(text: string): string {
  return text.replaceAll('\r', '').replace(UNSAFE, pictureOf);
}

/** The same in one line of at most `limit` characters. */
export function safeLine(text: string, limit = Infinity): string {
  const line = oneLine(safeText(text));
  const characters = [...line];
  return characters.length <= limit ? line : characters.slice(0, limit - 1).join('') + ELLIPSIS;
}

/** A value as JSON in which every character can be seen: what a person approves. */
export function exactJson(value: unknown): string {
  return escaped(JSON.stringify(value, null, 2), INVISIBLE);
}

/** A value as one line of JSON that is harmless on a terminal, too. */
export function jsonLine(value: unknown): string {
  return escaped(JSON.stringify(value), UNSAFE);
}

/** As one word of a POSIX shell. */
export function shellWord(text: string): string {
  const line = safeLine(text);
  return /^[\w./:@%+=,-]+$/.test(line) ? line : `'${line.replaceAll("'", `'\\''`)}'`;
}

function pictureOf(character: string): string {
  const code = character.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(PICTURES + code);
  return code === 0x7f ? '\u2421' : '\ufffd';
}

/** JSON's own white space stays; inside its texts no line feed is left to escape. */
function escaped(json: string, what: RegExp): string {
  return json.replace(what, (character) =>
    character === '\n'
      ? character
      : [...Array(character.length).keys()]
          .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`)
          .join(''),
  );
}
