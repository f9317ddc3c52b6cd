import { isJsonObject, mapMembers, type Json, type JsonObject } from '../../core/json.js';
import { safeLine, safeText } from '../../terminal/safe-text.js';

/** A longer value is no word to choose, and may be an instruction. */
const LONGEST_VALUE = 200;
/** A line feed or a tab may be a value, such as a separator. */
const LONGEST_SEPARATOR = 2;

/**
 * Returns a schema in which a server's texts cannot look like the words of this program: descriptions are on one line, with
 * hidden characters replaced; values with several lines or hidden characters, and long ones, are left out.
 */
export function withPlainTexts(schema: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(schema).flatMap(([key, value]): [string, Json][] => {
      const plain = plainMember(key, value!);
      return plain === undefined ? [] : [[key, plain]];
    }),
  );
}

function plainMember(key: string, value: Json): Json | undefined {
  switch (key) {
    case 'description':
      return safeLine(value as string);
    case 'enum': {
      const values = (value as readonly Json[]).filter(isPlain);
      return values.length === 0 ? undefined : values;
    }
    case 'default':
      return isPlain(value) ? value : undefined;
    case 'properties':
      return mapMembers(value as JsonObject, (one) => withPlainTexts(one as JsonObject));
    default:
      return plainBranches(value);
  }
}

function plainBranches(value: Json): Json {
  if (Array.isArray(value)) return value.map((one: Json) => plainBranches(one));
  return isJsonObject(value) ? withPlainTexts(value) : value;
}

function isPlain(value: Json): boolean {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (text.length <= LONGEST_SEPARATOR) return true;
  return text.length <= LONGEST_VALUE && !text.includes('\n') && safeText(text) === text;
}
