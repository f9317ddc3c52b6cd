/** A line of a value that is at least this long is also searched for by itself. */
const MIN_LINE_CHARACTERS = 16;

/** The written forms of a value, grouped by the characters that may interrupt them. */
export function formsOf(value: string) {
  // A text may contain the value without its surrounding white space.
  const bytes = Buffer.from(value.trim(), 'utf8');
  return {
    // Nothing interrupts these.
    plain: [...plainForms(value), ...plainForms(value.trim())],
    // In the standard alphabet. Line breaks may interrupt them.
    base64: base64Forms(bytes),
    // In lower case. Separators may interrupt them.
    hex: [bytes.toString('hex'), unitsOf(value.trim())],
    // The numbers of the characters, as in "&#103;". Separators may interrupt them.
    decimal: [[...value.trim()].map((sign) => sign.codePointAt(0)).join('')],
  };
}

function plainForms(value: string): readonly string[] {
  const json = escaped(value);
  const url = encodeURIComponent(value);
  const lines = value
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line.length >= MIN_LINE_CHARACTERS && !line.startsWith('-----'));
  const forms = [
    ...[value, json, escaped(json), json.replaceAll('/', '\\/'), asciiJson(json)],
    ...[url, lowerEscapes(url), formEncoded(url), lowerEscapes(formEncoded(url)), encodeURI(value)],
    ...[html(value), value.replaceAll("'", `'\\''`), ...lines],
  ];
  // Bytes that are not decoded yet have a character for each byte.
  return [...new Set(forms.flatMap((form) => [form, Buffer.from(form, 'utf8').toString('latin1')]))];
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

const escaped = (text: string): string => JSON.stringify(text).slice(1, -1);

function asciiJson(json: string): string {
  return json.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

const lowerEscapes = (url: string): string => url.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());

/** Encodes like an HTML form, which escapes more than `encodeURIComponent` and writes spaces as "+". */
function formEncoded(url: string): string {
  return url
    .replaceAll('%20', '+')
    .replace(/[!'()~]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}

function html(text: string): string {
  const names: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  return text.replace(/[&<>"]/g, (sign) => names[sign]!).replaceAll("'", '&#39;');
}
