import { canonicalJson } from '../core/canonical-json.js';
import { isJsonObject, parseSafeJson, type Json, type JsonObject } from '../core/json.js';
import { typesOf } from '../core/json-schema.js';
import { fittedKeys } from '../core/model-schema.js';
import {
  branchesOf,
  isOfType,
  itemSchema,
  schemaProblems,
  typeOf,
  unknownKeys,
} from '../core/schema-check.js';

/** The names under which models wrap all arguments once more. */
const WRAPPERS: ReadonlySet<string> = new Set(['arguments', 'parameters', 'input', 'args', 'kwargs']);
const NUMBER = /^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const BOOLEANS = new Map(Object.entries({ true: true, false: false }));

/**
 * Reads arguments as a schema of `readSchema` wants them, where there is exactly one way to: a number that is written as a
 * text, a list that is JSON text or one item, null for what was left out, a name that a vendor would not take. Other values
 * stay as they are, so that the check says what is wrong.
 */
export function coerceArguments(schema: JsonObject, given: JsonObject): JsonObject {
  const [[key, wrapped] = []] = Object.entries(given);
  const inner = typeof wrapped === 'string' ? parseSafeJson(wrapped) : wrapped;
  const isWrapped = key !== undefined && WRAPPERS.has(key) && unknownKeys(schema, given).length === 1;
  const isAlone = isWrapped && Object.keys(given).length === 1;
  return readObject(schema, isAlone && isJsonObject(inner) ? inner : given);
}

function coerce(schema: JsonObject, value: Json): Json {
  const branches = branchesOf(schema);
  const chosen = branches.length > 0 ? readingOf(branches, value) : value;
  const parts = (schema['allOf'] ?? []) as readonly JsonObject[];
  return parts.reduce<Json>((read, part) => coerce(part, read), readPlain(schema, chosen));
}

/** The value as the one branch wants it that can take it; the value itself when several can, each in another way. */
function readingOf(branches: readonly JsonObject[], value: Json): Json {
  const readings = branches.flatMap((branch) => {
    const read = coerce(branch, value);
    if (schemaProblems(branch, read).length > 0) return [];
    return [{ read, unknown: isJsonObject(read) ? unknownKeys(branch, read).length : 0 }];
  });
  const least = Math.min(...readings.map(({ unknown }) => unknown));
  return onlyOne(readings.filter(({ unknown }) => unknown === least).map(({ read }) => read)) ?? value;
}

/** The value of a list whose values are all the same; undefined for any other list. */
function onlyOne(values: readonly Json[]): Json | undefined {
  return new Set(values.map(canonicalJson)).size === 1 ? values[0] : undefined;
}

function readPlain(schema: JsonObject, value: Json): Json {
  const typed = toType(schema, value);
  if (isJsonObject(typed)) return readObject(schema, typed);
  if (Array.isArray(typed))
    return (typed as readonly Json[]).map((item, at) => coerce(itemSchema(schema, at), item));
  return typeof typed === 'string' ? listedValue(schema, typed) : typed;
}

/** The value of the list that a text means, but for its case and the space around it. */
function listedValue(schema: JsonObject, text: string): Json {
  const values = (schema['enum'] ?? []) as readonly Json[];
  if (values.includes(text)) return text;
  const plain = (one: string) => one.trim().toLowerCase();
  const meant = values.filter((one) => typeof one === 'string' && plain(one) === plain(text));
  return meant.length === 1 ? meant[0]! : text;
}

/** The value in a type that the schema names, where there is one way to read it so. */
function toType(schema: JsonObject, value: Json): Json {
  const types = wantedTypes(schema);
  if (types.length === 0 || types.some((type) => isOfType(value, type))) return value;
  return onlyOne(types.flatMap((type) => readAs(type, value))) ?? value;
}

function wantedTypes(schema: JsonObject): readonly string[] {
  const types = typesOf(schema);
  if (types.length > 0) return types;
  const listed = schema['enum'] as readonly Json[] | undefined;
  if (listed) return [...new Set(listed.map(typeOf))];
  if (schema['properties'] !== undefined) return ['object'];
  return schema['items'] === undefined && schema['prefixItems'] === undefined ? [] : ['array'];
}

/** The readings of a value of another type: none, or one. */
function readAs(type: string, value: Json): readonly Json[] {
  if (value === null) return [];
  const only = Array.isArray(value) && value.length === 1 ? (value[0] as Json) : undefined;
  if (only !== undefined) return isOfType(only, type) ? [only] : readAs(type, only);
  if (type === 'array') return readList(value);
  if (typeof value === 'string') return readText(type, value.trim());
  const isPlain = typeof value === 'boolean' || (typeof value === 'number' && isExact(value));
  return type === 'string' && isPlain ? [String(value)] : [];
}

const isExact = (number: number): boolean => !Number.isInteger(number) || Number.isSafeInteger(number);

function readText(type: string, text: string): readonly Json[] {
  const number = NUMBER.test(text) ? Number(text) : NaN;
  if (Number.isFinite(number)) return isOfType(number, type) && isExact(number) ? [number] : [];
  const value = BOOLEANS.get(text.toLowerCase()) ?? (type === 'object' ? parseSafeJson(text) : undefined);
  return value !== undefined && isOfType(value, type) ? [value] : [];
}

/** A list that is written as JSON, as a list of Python, or as its only item. A text with commas may be several items. */
function readList(value: Json): readonly Json[] {
  if (typeof value === 'string') {
    const text = value.trim();
    const list =
      parseSafeJson(text) ?? (text.includes('"') ? undefined : parseSafeJson(text.replaceAll("'", '"')));
    if (Array.isArray(list)) return [list as Json];
    if (text === '' || /^[[{]|[,;\n]/.test(text)) return [];
  }
  return [[value]];
}

/** Renames the arguments as the schema has them, leaves out null for what may be left out, and reads the others. */
function readObject(schema: JsonObject, given: JsonObject): JsonObject {
  const { properties = {}, required = [], additionalProperties: further } = schema;
  const members = properties as Readonly<Record<string, JsonObject>>;
  const nameOf = namesIn(members, given);
  const entries = Object.entries(given).flatMap(
    ([key, value = null]): readonly (readonly [string, Json])[] => {
      const name = nameOf(key);
      const member = Object.hasOwn(members, name) ? members[name]! : undefined;
      if (!member) {
        if (value === null && further === false) return [];
        return [[name, isJsonObject(further) ? coerce(further, value) : value]];
      }
      const mayBeLeftOut = !(required as readonly string[]).includes(name);
      const isLeftOut = value === null || (value === '' && !takesText(member));
      if (isLeftOut && mayBeLeftOut && schemaProblems(member, value).length > 0) return [];
      return [[name, coerce(member, value)]];
    },
  );
  return Object.fromEntries(entries);
}

/** Whether a text may be meant: any, or one of a list. */
function takesText(schema: JsonObject): boolean {
  const types = wantedTypes(schema);
  const branches = branchesOf(schema);
  return (
    types.includes('string') || (types.length === 0 && (branches.length === 0 || branches.some(takesText)))
  );
}

/** Finds the name of the schema that a key means: its own, the one that vendors take, or the only one spelled alike. */
function namesIn(members: Readonly<Record<string, JsonObject>>, given: JsonObject): (key: string) => string {
  const keys = Object.keys(given);
  if (keys.every((key) => Object.hasOwn(members, key))) return (key) => key;
  const known = Object.keys(members);
  const fits = fittedKeys(known);
  const fitted = new Map([...fits].map(([name, fit]) => [fit, name]));
  const spelled = (name: string) => name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
  const [knownBySpelling, keysBySpelling] = [Map.groupBy(known, spelled), Map.groupBy(keys, spelled)];
  const isGiven = (name: string) =>
    Object.hasOwn(given, name) || Object.hasOwn(given, fits.get(name) ?? name);
  return (key) => {
    if (Object.hasOwn(members, key)) return key;
    const own = fitted.get(key);
    if (own !== undefined) return own;
    const spelling = spelled(key);
    const alike = knownBySpelling.get(spelling)?.filter((name) => !isGiven(name)) ?? [];
    const isAlone = alike.length === 1 && keysBySpelling.get(spelling)!.length === 1;
    return isAlone && spelling !== '' ? alike[0]! : key;
  };
}
