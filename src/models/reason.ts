import { isJsonObject, listIn, objectIn, parseJson, textIn, type JsonObject } from '../core/json.js';
import { oneLine } from '../core/text.js';

/** Returns the meaning of each word, from the words that vendors use for each meaning, parted by blanks. */
export function meaningsOf<Meaning extends string>(words: Readonly<Partial<Record<Meaning, string>>>) {
  const entries = Object.entries(words) as [Meaning, string][];
  return new Map(
    entries.flatMap(([meaning, all]) => all.split(/\s+/).map((word) => [word, meaning] as const)),
  );
}

/** Anything that looks like a key of a vendor, whole or with its middle left out. */
const KEY_SHAPE =
  /\b(sk|xai|gsk|key)-[\w*.-]{6,}|\bAIza[\w-]{20,}|(?<=[?&](?:api[-_]?key|key|token)=)[^\s&"']+/gi;

const MAX_QUOTED_CHARACTERS = 500;
const MAX_REASONS = 4;
const MAX_DEPTH = 10;

/**
 * Returns what a server says of a refusal, in a body of any form: the vendors' own, lists of errors, those of FastAPI, JSON
 * inside of a text, or the title of a web page. Empty when it says nothing. Holds no key.
 */
export function reasonIn(body: unknown, apiKey: string | undefined): string {
  const found: string[] = [];
  for (const text of textsIn(body, MAX_DEPTH)) {
    const line = oneLine(apiKey ? text.replaceAll(apiKey, '[API key]') : text);
    if (line !== '' && !found.some((before) => before.includes(line))) found.push(line);
    if (found.length === MAX_REASONS) break;
  }
  // Another form of body is quoted as it is.
  const whole = isJsonObject(body) && Object.keys(body).length > 0 ? JSON.stringify(body) : '';
  const said = found.join('; ') || whole;
  return said.replaceAll(KEY_SHAPE, '[API key]').slice(0, MAX_QUOTED_CHARACTERS).toWellFormed();
}

/** The members that hold a reason, in the order in which they are said. */
const REASONS = [
  ...['error', 'message', 'msg', 'detail', 'errors', 'error_description', 'description', 'reason', 'title'],
  ...['explanation', 'raw', 'metadata', 'details', 'innererror', 'fieldViolations', 'reasons', 'body'],
];

function* textsIn(value: unknown, depth: number): Generator<string, void> {
  if (depth === 0) return;
  if (typeof value === 'string') yield* textsOf(value, depth);
  if (Array.isArray(value)) for (const item of value) yield* textsIn(item, depth - 1);
  if (!isJsonObject(value)) return;
  const place = listIn(value.loc).join('.');
  if (place && typeof value.msg === 'string') {
    yield `${place}: ${value.msg}`;
    return;
  }
  for (const name of REASONS) yield* textsIn(value[name], depth - 1);
  const filtered = filteredCategories(value);
  if (filtered) yield `content filter: ${filtered}`;
}

function* textsOf(text: string, depth: number): Generator<string, void> {
  const inner = /^\s*[[{]/.test(text) ? parseJson(text) : undefined;
  if (inner !== undefined) yield* textsIn(inner, depth - 1);
  else if (/<html|<!doctype/i.test(text)) yield /<title[^>]*>([^<]*)/i.exec(text)?.[1] ?? '';
  else yield text;
}

/** The categories for which a filter of Azure or another server stopped a request or an answer: "violence (high)". */
export function filteredCategories(value: JsonObject): string {
  const results = value.content_filter_results ?? value.content_filter_result;
  return Object.entries(objectIn(results))
    .filter(([, found]) => objectIn(found).filtered === true)
    .map(([name, found]) => {
      const severity = textIn(objectIn(found).severity);
      return severity ? `${name} (${severity})` : name;
    })
    .join(', ');
}

/** The ways in which vendors name the window in a refusal, the most exact first. */
const NAMED_WINDOWS: readonly RegExp[] = [
  // llama.cpp: "n_ctx":256, "n_keep: 10247 >= n_ctx: 4096"
  /n_ctx\W{0,4}(\d+)/,
  // "prompt is too long: 208310 tokens > 200000 maximum", "190000 + 20000 > 200000"
  /> ?(\d[\d,]*)/,
  // "maximum context length is 32768 tokens", "maximum prompt length is 131072", "maximum model length of 8192"
  /max\w* (?:context|prompt|model|input|sequence|allowed)? ?(?:length|window|size|tokens?)\D{0,30}?(\d[\d,]*)/i,
  // "exceeds the maximum number of tokens allowed (1048576)"
  /allowed\D{0,10}(\d[\d,]*)/i,
  // "model with 32768 maximum context length"
  /(\d[\d,]*) max\w* (?:context|prompt|input)/i,
  // "the available context size (4096 tokens)", "context length is only 4096 tokens"
  /context (?:length|window|size|limit)\D{0,30}?(\d[\d,]*)/i,
  // "Range of input length should be [1, 30720]"
  /\[1, ?(\d[\d,]*)\]/,
  // "Current length is 8300 while limit is 8192", "Max size: 8000 tokens", "cannot exceed 4081"
  /(?:limit(?: is| of|:)?|max size:|cannot exceed|exceeds? the limit of) ?(\d[\d,]*)/i,
];

/** MiniMax: "context window exceeds limit (2013)". */
const ERROR_CODE = /exceeds limit \(\d+\)/i;

/** Numbers outside of this range are no windows of a model. */
const SMALLEST_WINDOW = 256;
const LARGEST_WINDOW = 20_000_000;
const MAX_SEARCHED_CHARACTERS = 4_000;

/** Returns the context window, in tokens, that the body of a vendor names when it refuses a request that is too long. */
export function windowIn(body: unknown): number | undefined {
  const whole = typeof body === 'string' ? body : (JSON.stringify(body) ?? '');
  const text = whole.slice(0, MAX_SEARCHED_CHARACTERS).replace(ERROR_CODE, '');
  for (const words of NAMED_WINDOWS) {
    const window = Number(words.exec(text)?.[1]?.replaceAll(',', ''));
    if (window >= SMALLEST_WINDOW && window <= LARGEST_WINDOW) return window;
  }
  return undefined;
}
