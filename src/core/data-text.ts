import { canonicalJson } from './canonical-json.js';
import { isJsonObject, parseSafeJson, type Json } from './json.js';
import { cutText } from './text.js';

/** The most data beside a text, in bytes of JSON. */
const DATA_BYTES = 32 * 1024;

/** The data of a result as JSON for a model, bounded; none when the texts beside it already say the same. */
export function dataBeside(texts: readonly string[], data: Json): readonly string[] {
  const json = JSON.stringify(data);
  if (saysSame(texts, data, json)) return [];
  return [cutText(json, DATA_BYTES, 'ask for less at once, or in parts').text];
}

/** The JSON of a value below `result` is longer than the value by so many characters. */
const WRAPPER_LENGTH = '{"result":""}'.length;

/** Servers of FastMCP put a value that is no object below `result`, and each item of a list into a text of its own. */
function saysSame(texts: readonly string[], data: Json, json: string): boolean {
  const [only, ...others] = isJsonObject(data) ? Object.values(data) : [];
  // The official file system server gives the text of a file once more below `content`.
  if (others.length === 0 && typeof only === 'string' && texts.includes(only)) return true;
  const bare = (text: string) => text.replace(/\s+/g, '');
  const length = texts.reduce((sum, text) => sum + text.length + 1, 0);
  // A text that says the same is not shorter, apart from white space in the data.
  if (length + WRAPPER_LENGTH < bare(json).length) return false;
  const wrapped = isJsonObject(data) && Object.keys(data).join() === 'result' ? only : undefined;
  const values = [data, ...(wrapped === undefined ? [] : [wrapped])];
  const read = texts.map((text) => parseSafeJson(text) ?? text);
  const said = new Set([...read, read].map((one) => canonicalJson(one)));
  const all = bare(texts.join(''));
  return values.some(
    (value) =>
      said.has(canonicalJson(value)) ||
      (typeof value === 'object' && all.includes(bare(JSON.stringify(value)))),
  );
}
