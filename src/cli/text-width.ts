/** Wide in a terminal: the scripts of East Asia, and pictures. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|[\u{20000}-\u{3fffd}]/u;
const ZERO = /\p{M}|\p{Cf}/u;
// eslint-disable-next-line no-control-regex
const ESCAPES = /\u001b\[[0-9;]*m/g;

/** The number of columns that a text takes, without its colors. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of text.replace(ESCAPES, ''))
    width += ZERO.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
  return width;
}
