const HEAD_SHARE = 0.7;

/**
 * Cuts `text` to `limitBytes` UTF-8 bytes: head and tail, with a mark between them that says how much is missing and gives
 * `advice` on how to read the rest. The mark is not counted. Never splits a character.
 */
export function cutText(text: string, limitBytes: number, advice: string) {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= limitBytes) return { text, missingBytes: 0 };
  const headEnd = characterStart(bytes, Math.floor(limitBytes * HEAD_SHARE));
  const tailStart = characterStart(bytes, bytes.length - (limitBytes - headEnd));
  const missingBytes = tailStart - headEnd;
  const head = bytes.toString('utf8', 0, headEnd);
  const tail = bytes.toString('utf8', tailStart);
  return { text: `${head}\n[… ${missingBytes} bytes left out; ${advice} …]\n${tail}`, missingBytes };
}

function characterStart(bytes: Buffer, index: number): number {
  let start = Math.max(0, index);
  while (start < bytes.length && (bytes[start]! & 0xc0) === 0x80) start += 1;
  return start;
}

/** Returns the first `longest` UTF-16 code units of `text`, and "…" for the rest. Never splits a character. */
export function shorten(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest).toWellFormed()}…`;
}

/**
 * Replaces each half of a surrogate pair, which is no character, in all texts and names of members of plain data. Vendors
 * and databases refuse them. Returns the same object when there was none.
 */
export function wellFormed<T>(value: T): T {
  return mapTexts(value, (text) => text.toWellFormed()) as T;
}

/**
 * Changes all texts and names of members in plain data. Returns the same object when nothing changed. `isBytes`: the text is
 * the base64 of a file.
 */
export function mapTexts(value: unknown, change: (text: string, isBytes?: boolean) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    // By index and without a list of results: a request may hold half a million numbers.
    const items: readonly unknown[] = value;
    let copy: unknown[] | undefined;
    for (let index = 0; index < items.length; index += 1) {
      const after = mapTexts(items[index], change);
      if (after !== items[index]) (copy ??= [...items])[index] = after;
    }
    return copy ?? items;
  }
  const members = value as Readonly<Record<string, unknown>>;
  let changed: Map<string, readonly [name: string, member: unknown]> | undefined;
  for (const name in members) {
    const member = members[name];
    const isBytes = name === 'bytes' && typeof member === 'string' && members['kind'] === 'file';
    const after = isBytes ? change(member, true) : mapTexts(member, change);
    const newName = change(name);
    if (after !== member || newName !== name) (changed ??= new Map()).set(name, [newName, after]);
  }
  if (!changed) return value;
  return Object.fromEntries(Object.entries(members).map((member) => changed.get(member[0]) ?? member));
}

/** Replaces each run of white space with one space, and trims the ends. */
export function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

/** The measure of `estimateTokens`. */
export const BYTES_PER_TOKEN = 4;

/** Estimates the number of tokens, where the vendor's count is not known. */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text, 'utf8') / BYTES_PER_TOKEN);
}

/** About how many tokens vendors count for an image of usual size. */
const IMAGE_TOKENS = 1_500;

/** Estimates the tokens of a part of a model request, in which the bytes of each file count as one image. */
export function estimateDataTokens(data: object): number {
  let images = 0;
  const text = JSON.stringify(data, (name, value: unknown) => {
    if (name !== 'bytes' || typeof value !== 'string') return value;
    images += 1;
    return undefined;
  });
  return estimateTokens(text) + images * IMAGE_TOKENS;
}

const TOKENS_OF = new WeakMap<object, number>();

/** Estimates the tokens of parts of model requests, each part once: no request reads a long conversation again. */
export function tokensIn(items: readonly object[]): number {
  return items.reduce((sum, item) => {
    const tokens = TOKENS_OF.get(item) ?? estimateDataTokens(item);
    TOKENS_OF.set(item, tokens);
    return sum + tokens;
  }, 0);
}

/** "1 byte", "2 bytes". */
export function counted(number: number, word: string): string {
  return `${number} ${word}${number === 1 ? '' : 's'}`;
}

/** Whether `version` is `oldest` or newer, number by number: "22.9.0" is older than "22.19". */
export function isAtLeast(version: string, oldest: string): boolean {
  // Not localeCompare: its tables take 10 ms to load, at every start.
  const comparable = (text: string) => text.replace(/\d+/g, (number) => number.padStart(6, '0'));
  return comparable(version) >= comparable(oldest);
}

/** The known word with the fewest edits, if at most a third of the letters differ (2 for short words). */
export function nearestOf(word: string, known: readonly string[]): string | undefined {
  const [best] = known
    .map((candidate) => ({ candidate, edits: editDistance(word.toLowerCase(), candidate.toLowerCase()) }))
    .sort((a, b) => a.edits - b.edits);
  return best && best.edits <= Math.max(2, Math.floor(word.length / 3)) ? best.candidate : undefined;
}

/** Insertions, deletions, replacements, and swaps of neighbors that turn `a` into `b`. */
function editDistance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  for (let row = 1; row <= a.length; row++) {
    const line = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      line[column] = Math.min(
        rows[row - 1]![column]! + 1,
        line[column - 1]! + 1,
        rows[row - 1]![column - 1]! + (same ? 0 : 1),
        swapped ? rows[row - 2]![column - 2]! + 1 : Infinity,
      );
    }
    rows.push(line);
  }
  return rows[a.length]![b.length]!;
}

/** Decodes the percent signs of a part of an address. Returns a part that is not well encoded as it is. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
