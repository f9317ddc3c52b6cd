import type { Json, JsonObject } from '../core/json.js';
import { isJsonObject } from '../core/json.js';
import type { Part } from '../core/message.js';

/**
 * Writes a person's words as the data that an agent's schema asks for: an object given as JSON, or the one member that
 * the schema requires. Returns undefined when the words do not fit: the agent then gets them as text. A schema that wants
 * one yes or no is that of an approval, which words alone do not decide.
 */
export function replyBySchema(schema: JsonObject, words: string): Part | undefined {
  const given = objectIn(words);
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
  const required: readonly unknown[] = Array.isArray(schema['required'])
    ? schema['required']
    : Object.keys(properties);
  const [name] = required;
  if (given) return { kind: 'data', data: given };
  if (required.length !== 1 || typeof name !== 'string') return undefined;
  const value = valueOf(properties[name], words.trim());
  return value === undefined ? undefined : { kind: 'data', data: { [name]: value } };
}

function objectIn(words: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(words);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function valueOf(schema: Json | undefined, words: string): Json | undefined {
  const type = isJsonObject(schema) ? schema['type'] : undefined;
  if (type === 'number' || type === 'integer')
    return words !== '' && !Number.isNaN(Number(words)) ? Number(words) : undefined;
  return type === 'string' ? words : undefined;
}
