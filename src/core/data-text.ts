import { canonicalJson } from './canonical-json.js';
import { isJsonObject, parseJson, type Json } from './json.js';
import { cutText } from './text.js';

/** The most data beside a text, in bytes of JSON. */
const DATA_BYTES = 32 * 1024;

/** The data of a result as JSON for a model, bounded; none when the texts beside it already say the same. */
export function dataBeside(texts: readonly string[], data: Json): readonly string[] {
  if (saysSame(texts, data)) return [];
  return [cutText(JSON.stringify(data), DATA_BYTES, 'ask for less at once, or in parts').text];
}

/** Servers of FastMCP put a value that is no object below `result`, and each item of a list into a text of its own. */
function saysSame(texts: readonly string[], data: Json): boolean {
  const wrapped = isJsonObject(data) && Object.keys(data).join() === 'result' ? data['result'] : undefined;
  const values = [data, ...(wrapped === undefined ? [] : [wrapped])];
  const read = texts.map((text) => (parseJson(text) ?? text) as Json);
  const said = new Set([...read, read].map((one) => canonicalJson(one)));
  const bare = (text: string) => text.replace(/\s+/g, '');
  const all = bare(texts.join(''));
  return values.some(
    (value) =>
      said.has(canonicalJson(value)) ||
      (typeof value === 'object' && all.includes(bare(JSON.stringify(value)))),
  );
}
