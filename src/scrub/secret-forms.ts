/** The ways in which a value is written down, by what may stand between its characters. */
export interface SecretForms {
  /** Character by character. */
  readonly plain: readonly string[];
  /** In the standard alphabet; line breaks may stand between. */
  readonly base64: readonly string[];
  /** In lower case; separators may stand between. */
  readonly hex: readonly string[];
}

/** A line of a value that is worth to be found by itself. */
const TELLING_LINE = 16;

export function formsOf(value: string): SecretForms {
  // White space round a value gets lost easily; what is left tells as much.
  const bytes = Buffer.from(value.trim(), 'utf8');
  return {
    plain: [...plainForms(value), ...plainForms(value.trim())],
    base64: base64Forms(bytes),
    hex: [bytes.toString('hex')],
  };
}

function plainForms(value: string): readonly string[] {
  const json = escaped(value);
  const url = encodeURIComponent(value);
  const lines = value
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line.length >= TELLING_LINE && !line.startsWith('-----'));
  const forms = [
    ...[
      value,
      Buffer.from(value, 'utf8').toString('latin1'),
      json,
      escaped(json),
      json.replaceAll('/', '\\/'),
      asciiJson(json),
    ],
    ...[url, lowerEscapes(url), formEncoded(url), lowerEscapes(formEncoded(url)), encodeURI(value)],
    ...[html(value), value.replaceAll("'", `'\\''`), ...lines],
  ];
  return [...new Set(forms)];
}

/**
 * What a value is in base64 whatever stands around it: one text for each place it may begin in a group of three bytes,
 * without the characters at the ends that also depend on its neighbors.
 */
function base64Forms(bytes: Buffer): readonly string[] {
  return [0, 1, 2].map((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64');
    return text.slice(Math.ceil((8 * shift) / 6), Math.floor((8 * (shift + bytes.length)) / 6));
  });
}

function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function asciiJson(json: string): string {
  return json.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function lowerEscapes(url: string): string {
  return url.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
}

/** As a form sends it, which escapes more than `encodeURIComponent` and writes spaces as "+". */
function formEncoded(url: string): string {
  return url
    .replaceAll('%20', '+')
    .replace(/[!'()~]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}

function html(text: string): string {
  const names: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  return text.replace(/[&<>"]/g, (sign) => names[sign]!).replaceAll("'", '&#39;');
}
