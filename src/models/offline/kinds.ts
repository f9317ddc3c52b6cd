import { isJsonObject, type Json, type JsonObject } from '../../core/json.js';
import { FILLERS } from './vocabulary.js';
import { readWords, type Token, type Words } from './words.js';

/**
 * What a placeholder takes. `text` and `list` take any number of words, the others one word or quotation.
 * The schema of the parameter decides, and where it says no more than "string", the placeholder's name.
 */
export type Kind =
  | { readonly type: 'text' | 'list' | 'integer' | 'number' | 'boolean' | 'url' | 'path' | 'word' }
  | { readonly type: 'choice'; readonly options: readonly string[] };

const PATH_NAMES = new Set(['path', 'file', 'filename', 'dir', 'directory', 'folder', 'cwd']);
const URL_NAMES = new Set(['url', 'uri', 'link']);
const WORD_NAMES = new Set(['id', 'ref', 'hash', 'address', 'from', 'to', 'target', 'destination']);
const SHORT_NAMES = new Set(['a', 'new']);
const TRUE_WORDS = new Set(['true', 'yes', 'on']);
const FALSE_WORDS = new Set(['false', 'no', 'off']);
const SCHEME = /^https?:\/\/[^\s/]/i;
const HOST_NAME =
  /^(localhost|([\p{L}\p{N}-]{1,63}\.){1,8}(com|org|net|edu|gov|io|dev|app|ai|info|eu|uk|us|ca|au|de|fr|nl|ch|kr|jp|cn|in|br))(:\d{1,5})?([/?#]|$)/iu;
const FILE_NAME = /\.\p{L}[\p{L}\p{N}]{0,9}$/u;
const LONGEST_REPLY_WORDS = 40;
const LONGEST_URL_CHARACTERS = 2_000;

/** How well a word fits: a word that shows by its form what it is counts more than one that merely may be it. */
const SURE = 10;
const POSSIBLE = 3;

export function kindOf(name: string, schema: JsonObject | undefined): Kind {
  if (schema && Array.isArray(schema.enum)) {
    return { type: 'choice', options: schema.enum.map((option) => String(option)) };
  }
  if (schema?.type === 'array') return { type: 'list' };
  if (schema?.type === 'integer' || schema?.type === 'number' || schema?.type === 'boolean') {
    return { type: schema.type };
  }
  const last = nameWords(name).at(-1) ?? '';
  if (URL_NAMES.has(last)) return { type: 'url' };
  if (PATH_NAMES.has(last)) return { type: 'path' };
  return { type: WORD_NAMES.has(last) || takesNoSpace(schema) ? 'word' : 'text' };
}

/** Whether the schema's pattern says that it is one word. */
function takesNoSpace(schema: JsonObject | undefined): boolean {
  const pattern = schema?.pattern;
  if (typeof pattern !== 'string') return false;
  try {
    return !new RegExp(pattern, 'u').test('two words');
  } catch {
    return false;
  }
}

/** "oldText" and "old_text" as "old text": how a person reads the name of a placeholder. */
export function nameWords(name: string): readonly string[] {
  return name
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[\s_-]+/)
    .filter((word) => word !== '');
}

export function isOneWord(kind: Kind): boolean {
  return kind.type !== 'text' && kind.type !== 'list';
}

/** How well the token at `index` fits a one-word kind; undefined when it does not. */
export function fitOf(kind: Kind, words: Words, index: number): number | undefined {
  const token = words.tokens[index];
  if (!token) return undefined;
  if (kind.type !== 'choice' && isFiller(token) && !isShortName(words, index)) return undefined;
  const value = tokenValue(words, token);
  if (value === '') return undefined;
  switch (kind.type) {
    case 'integer':
    case 'number':
    case 'boolean':
    case 'choice':
      return toArgument(kind, value) === undefined ? undefined : SURE;
    case 'url':
      if (SCHEME.test(value)) return SURE + 1;
      if (value.length <= LONGEST_URL_CHARACTERS && HOST_NAME.test(value)) return SURE + 1;
      return value.includes('.') ? POSSIBLE : undefined;
    case 'path':
      if (token.quoted === undefined && SCHEME.test(value)) return undefined;
      return /[./~]/.test(value) ? SURE : POSSIBLE;
    case 'word':
    case 'text':
    case 'list':
      return POSSIBLE;
  }
}

/** Whether the token at `index` can hardly be anything but a file: "notes.txt", and not "example.com" or "2.5". */
export function isFileName(words: Words, index: number): boolean {
  const token = words.tokens[index];
  const value = token ? tokenValue(words, token) : '';
  return FILE_NAME.test(value) && !SCHEME.test(value) && !HOST_NAME.test(value);
}

function isFiller(token: Token | undefined): boolean {
  return token?.quoted === undefined && FILLERS.has(token?.stem ?? '');
}

/** "a" is a name in "read a" and in "move a to b", and none in "read a file"; "new" in "rename a to new". */
function isShortName({ tokens }: Words, index: number): boolean {
  return SHORT_NAMES.has(tokens[index]?.plain ?? '') && !isFiller(tokens[index + 1]);
}

/**
 * What the tokens stand for: a single quotation without its quotes, else the text as it stands, without commas
 * and colons after it and without the punctuation that ends the sentence.
 */
export function valueOf(words: Words, from: number, to: number): string {
  const first = words.tokens[from];
  const last = words.tokens[to - 1];
  if (!first || !last) return '';
  if (to === from + 1) return tokenValue(words, first);
  const isLast = to === words.tokens.length;
  return trimEnd(words.text.slice(first.start, last.end), isLast && last.quoted === undefined);
}

/** `value` as an argument of this kind; undefined when it cannot be one. */
export function toArgument(kind: Kind, value: string): Json | undefined {
  const word = value.toLowerCase();
  switch (kind.type) {
    case 'integer':
    case 'number': {
      const number = value.trim() === '' ? NaN : Number(value);
      return Number.isFinite(number) && (kind.type === 'number' || Number.isSafeInteger(number))
        ? number
        : undefined;
    }
    case 'boolean':
      if (TRUE_WORDS.has(word)) return true;
      return FALSE_WORDS.has(word) ? false : undefined;
    case 'choice':
      return kind.options.find((option) => option.toLowerCase() === word);
    case 'list':
      return listItems(value);
    case 'text':
    case 'url':
    case 'path':
    case 'word':
      return value;
  }
}

/**
 * The argument in a person's reply, who may wrap it in a sentence: "put it into notes.txt please". Of
 * several words that fit, one has to fit better than the others; undefined when it is not clear.
 */
export function argumentInReply(kind: Kind, reply: string): Json | undefined {
  const words = readWords(reply);
  if (!isOneWord(kind)) {
    const value = valueOf(words, 0, words.tokens.length);
    return value === '' ? undefined : toArgument(kind, value);
  }
  if (words.tokens.length > LONGEST_REPLY_WORDS) return undefined;
  const fits = words.tokens.map((_, index) => fitOf(kind, words, index) ?? 0);
  const best = Math.max(0, ...fits);
  const index = fits.indexOf(best);
  if (best === 0 || fits.indexOf(best, index + 1) !== -1) return undefined;
  return toArgument(kind, valueOf(words, index, index + 1));
}

/** The parameter of that name in an object schema. */
export function parameterSchema(parameters: JsonObject, name: string): JsonObject | undefined {
  const properties = parameters.properties;
  if (!isJsonObject(properties) || !Object.hasOwn(properties, name)) return undefined;
  const schema = properties[name];
  return isJsonObject(schema) ? schema : undefined;
}

function tokenValue(words: Words, token: Token): string {
  return token.quoted ?? trimEnd(words.text.slice(token.start, token.end), true);
}

function trimEnd(text: string, isSentenceEnd: boolean): string {
  let end = text.length;
  while (end > 1 && ',;:'.includes(text.charAt(end - 1))) end -= 1;
  let stop = end;
  while (isSentenceEnd && stop > 1 && '.!?'.includes(text.charAt(stop - 1))) stop -= 1;
  // A path such as ".." or "src/.." and a pattern such as "*." keep their dots.
  return text.slice(
    0,
    stop < end && /[\p{L}\p{N}"'”’`)\]]$/u.test(text.slice(0, stop).slice(-2)) ? stop : end,
  );
}

function listItems(value: string): readonly string[] {
  const words = readWords(value);
  const items: string[][] = [[]];
  for (const token of words.tokens) {
    const isAnd = token.plain === 'and';
    if (!isAnd) items.at(-1)?.push(tokenValue(words, token));
    if (isAnd || words.text.charAt(token.end - 1) === ',') items.push([]);
  }
  return items.map((item) => item.join(' ')).filter((item) => item !== '');
}
