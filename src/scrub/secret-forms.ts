import { unescaped } from './unescape.js';

/** A line of a value that is at least this long is also searched for by itself. */
const MIN_LINE_CHARACTERS = 16;
const ENOUGH_BYTES = 6;

/** The written forms of a value, grouped by the characters that may interrupt them. */
export function formsOf(value: string) {
  // A text may contain the value without its surrounding white space.
  const bytes = Buffer.from(value.trim(), 'utf8');
  const plain = plainForms(value);
  return {
    // Nothing interrupts these.
    plain: [...plain, value.replaceAll("'", `'\\''`), JSON.stringify(value).slice(1, -1)],
    // The bytes that a text stands for once its escapes are undone.
    escaped: plain.flatMap(enough),
    // In the standard alphabet. Line breaks may interrupt them.
    base64: base64Forms(bytes),
    // In lower case. Separators may interrupt them.
    hex: [bytes.toString('hex'), unitsOf(value.trim())],
    // The numbers of the characters, as in "&#103;". Separators may interrupt them.
    decimal: [[...value.trim()].map((sign) => sign.codePointAt(0)).join('')],
  };
}

/** The value, without white space at its ends, and its long lines; also with a character for each byte, not decoded yet. */
function plainForms(value: string): readonly string[] {
  const lines = value
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line.length >= MIN_LINE_CHARACTERS && !line.startsWith('-----'));
  const forms = [value, value.trim(), ...lines];
  return [...new Set(forms.flatMap((form) => [form, Buffer.from(form, 'utf8').toString('latin1')]))];
}

/** The bytes of a form, unless so few are left that any text may have them: backslashes leave nothing. */
function enough(form: string): readonly string[] {
  // A part of the form that looks like an escape may be escaped too, and then stands for itself.
  const literal = Buffer.from(form.replaceAll('\\', '').replaceAll('+', ' '), 'utf8').toString('latin1');
  const least = Math.min(form.length, ENOUGH_BYTES);
  return [unescaped(form), literal].filter((bytes) => bytes.trim().length >= least);
}

/** The hex digits of the UTF-16 units, four for each: those of "\u0067" and "U+0067". */
const unitsOf = (text: string): string => Buffer.from(text, 'utf16le').swap16().toString('hex');

/** The base64 of a value inside other data: one text for each shift, without the ends, which neighboring bytes change. */
function base64Forms(bytes: Buffer): readonly string[] {
  return [0, 1, 2].map((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64');
    return text.slice(Math.ceil((8 * shift) / 6), Math.floor((8 * (shift + bytes.length)) / 6));
  });
}
