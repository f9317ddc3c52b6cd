import { z } from 'zod';
import { isJsonObject, type Json } from '../../core/json.js';
import { LangoError } from '../../core/errors.js';
import { shorten } from '../../core/text.js';

const LONGEST_DESCRIPTION = 500;
const MOST_BYTES = 16 * 1024;
const DEEPEST = 12;

/**
 * The keywords that are kept. Patterns are left out: they are the server's, and matching them could block this process.
 * The server checks its arguments itself.
 */
const KEPT = new Set([
  ...['type', 'description', 'properties', 'required', 'items', 'prefixItems', 'enum', 'const', 'default'],
  ...['anyOf', 'oneOf', 'allOf', 'additionalProperties', '$ref', '$defs', 'definitions', 'title'],
  ...['minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems'],
]);
const MAPS = new Set(['properties', '$defs', 'definitions']);
const VALUES = new Set(['enum', 'const', 'default', 'required', 'type']);

/**
 * Makes a schema of arguments from the JSON Schema that a server wrote. Rejects by throwing `tool` for one that is no
 * object, too large, or beyond what can be read.
 */
export function argumentsSchema(given: unknown): z.ZodObject {
  if (Buffer.byteLength(JSON.stringify(given) ?? '') > MOST_BYTES)
    throw unreadable(`it is larger than ${MOST_BYTES} bytes`);
  const cleaned = cleanSchema(given as Json, 0);
  if (!isJsonObject(cleaned) || cleaned['type'] !== 'object') throw unreadable('it describes no object');
  let schema: unknown;
  try {
    schema = z.fromJSONSchema(cleaned);
    z.toJSONSchema(schema as z.ZodType, { io: 'input' });
  } catch (error) {
    throw unreadable((error as Error).message);
  }
  if (!(schema instanceof z.ZodObject)) throw unreadable('it describes no plain object');
  // Unknown arguments are refused, unless the server says what they may be.
  return cleaned['additionalProperties'] === undefined ? schema.strict() : schema;
}

function cleanSchema(schema: Json, depth: number): Json {
  if (depth > DEEPEST) throw unreadable(`it is deeper than ${DEEPEST} levels`);
  if (!isJsonObject(schema)) return schema;
  const members = Object.entries(schema).filter(([key, value]) => KEPT.has(key) && value !== undefined);
  return Object.fromEntries(members.map(([key, value]) => [key, cleanMember(key, value!, depth)]));
}

function cleanMember(key: string, value: Json, depth: number): Json {
  if (key === 'description' || key === 'title')
    return typeof value === 'string' ? shorten(value, LONGEST_DESCRIPTION) : '';
  if (VALUES.has(key)) return value;
  if (MAPS.has(key) && isJsonObject(value)) {
    const entries = Object.entries(value);
    return Object.fromEntries(entries.map(([name, each]) => [name, cleanSchema(each!, depth + 1)]));
  }
  if (Array.isArray(value)) return value.map((each) => cleanSchema(each as Json, depth + 1));
  return cleanSchema(value, depth + 1);
}

function unreadable(why: string): LangoError {
  return new LangoError('tool', `its arguments cannot be described to a model: ${why}`);
}
