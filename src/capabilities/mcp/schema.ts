import { z } from 'zod';
import { isJsonObject, type Json } from '../../core/json.js';
import { LangoError } from '../../core/errors.js';
import { shorten } from '../../core/text.js';

const DESCRIPTION_MAX_LENGTH = 500;
const SCHEMA_MAX_BYTES = 16 * 1024;
const DEPTH_MAX = 12;

/** The kept keywords. Patterns are left out: matching one could block this process, and the server does it anyway. */
const KEYWORDS = new Set([
  ...['type', 'description', 'properties', 'required', 'items', 'prefixItems', 'enum', 'const', 'default'],
  ...['anyOf', 'oneOf', 'allOf', 'additionalProperties', '$ref', '$defs', 'definitions', 'title'],
  ...['minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems'],
]);
const MAPS = new Set(['properties', '$defs', 'definitions']);
const VALUES = new Set(['enum', 'const', 'default', 'required', 'type']);

/** Converts a server's JSON Schema of arguments. Throws `tool` for one that is too large or describes no object. */
export function argumentsSchema(given: unknown): z.ZodObject {
  if (Buffer.byteLength(JSON.stringify(given) ?? '') > SCHEMA_MAX_BYTES)
    throw unreadable(`it is larger than ${SCHEMA_MAX_BYTES} bytes`);
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
  // Unknown arguments are refused, unless the schema defines `additionalProperties`.
  return cleaned['additionalProperties'] === undefined ? schema.strict() : schema;
}

function cleanSchema(schema: Json, depth: number): Json {
  if (depth > DEPTH_MAX) throw unreadable(`it is deeper than ${DEPTH_MAX} levels`);
  if (!isJsonObject(schema)) return schema;
  const members = Object.entries(schema).filter(([key, value]) => KEYWORDS.has(key) && value !== undefined);
  return Object.fromEntries(members.map(([key, value]) => [key, cleanMember(key, value!, depth)]));
}

function cleanMember(key: string, value: Json, depth: number): Json {
  if (key === 'description' || key === 'title')
    return typeof value === 'string' ? shorten(value, DESCRIPTION_MAX_LENGTH) : '';
  if (VALUES.has(key)) return value;
  if (MAPS.has(key) && isJsonObject(value)) {
    const entries = Object.entries(value);
    return Object.fromEntries(entries.map(([name, item]) => [name, cleanSchema(item!, depth + 1)]));
  }
  if (Array.isArray(value)) return value.map((item) => cleanSchema(item as Json, depth + 1));
  return cleanSchema(value, depth + 1);
}

function unreadable(why: string): LangoError {
  return new LangoError('tool', `its arguments cannot be described to a model: ${why}`);
}
