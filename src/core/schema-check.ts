import { canonicalJson } from './canonical-json.js';
import { isJsonObject, type Json, type JsonObject } from './json.js';
import { typesOf } from './json-schema.js';

/** A fault of a value: its path, and the reason. */
export interface SchemaProblem {
  readonly path: readonly (string | number)[];
  readonly text: string;
  /** The names that the object does not know. */
  readonly unknown?: readonly string[];
}

type Path = SchemaProblem['path'];

/** Checks a value against a schema of `readSchema`. A branch of several refuses no unknown names: they may be another's. */
export function schemaProblems(
  schema: JsonObject,
  value: Json | undefined,
  path: Path = [],
): readonly SchemaProblem[] {
  const types = typesOf(schema);
  if (isJsonObject(schema['not'])) return [{ path, text: 'takes no value' }];
  if (types.length > 0 && !types.some((type) => isOfType(value, type)))
    return [{ path, text: `expected ${types.join(' or ')}, received ${typeOf(value)}` }];
  const { enum: listed } = schema;
  if (Array.isArray(listed) && !listed.some((one: Json) => isSame(one, value)))
    return [{ path, text: `expected one of ${listed.map((one) => JSON.stringify(one)).join(', ')}` }];
  const items = Array.isArray(value) ? (value as readonly Json[]) : [];
  return [
    ...(isJsonObject(value) ? objectProblems(schema, value, path) : limitProblems(schema, value, path)),
    ...items.flatMap((item, at) => schemaProblems(itemSchema(schema, at), item, [...path, at])),
    ...branchProblems(schema, value, path),
  ];
}

function objectProblems(schema: JsonObject, value: JsonObject, path: Path): readonly SchemaProblem[] {
  const { properties = {}, required = [], additionalProperties: further } = schema as ObjectSchema;
  const missing = required
    .filter((key) => !Object.hasOwn(value, key))
    .map((key) => ({ path: [...path, key], text: 'is missing' }));
  const unknown = further === false ? unknownKeys(schema, value) : [];
  const wrong = Object.entries(value).flatMap(([key, member]) => {
    const own = Object.hasOwn(properties, key) ? properties[key] : further;
    return isJsonObject(own) ? schemaProblems(own, member, [...path, key]) : [];
  });
  const text = `unknown argument ${unknown.join(', ')}`;
  return [...missing, ...wrong, ...(unknown.length > 0 ? [{ path, text, unknown }] : [])];
}

interface ObjectSchema {
  readonly properties?: Readonly<Record<string, JsonObject>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonObject;
}

export function unknownKeys({ properties = {} }: JsonObject, value: JsonObject): readonly string[] {
  return Object.keys(value).filter((key) => !Object.hasOwn(properties as JsonObject, key));
}

/** The schema of the item at this place of a list. */
export function itemSchema({ items, prefixItems = [] }: JsonObject, at: number): JsonObject {
  const own = (prefixItems as readonly JsonObject[])[at] ?? items;
  return isJsonObject(own) ? own : {};
}

/** The most branches that are tried for the arguments of one call: those of a hostile server would take minutes. */
const MOST_BRANCHES = 50_000;
let branchesLeft = Infinity;

/** Reads or checks one value. Once too many branches were tried, further ones are for the receiver to check. */
export function withFewBranches<Result>(work: () => Result): Result {
  branchesLeft = MOST_BRANCHES;
  try {
    return work();
  } finally {
    branchesLeft = Infinity;
  }
}

/** The branches that may still be tried. */
export function branchesOf({ anyOf = [] }: JsonObject): readonly JsonObject[] {
  const branches = anyOf as readonly JsonObject[];
  branchesLeft -= branches.length;
  return branchesLeft < 0 ? [] : branches;
}

function branchProblems(schema: JsonObject, value: Json | undefined, path: Path): readonly SchemaProblem[] {
  const problemsOf = (branch: JsonObject) => {
    const found = schemaProblems(branch, value, path);
    return found.filter((problem) => problem.unknown === undefined || problem.path.length > path.length);
  };
  const all = ((schema['allOf'] ?? []) as readonly JsonObject[]).flatMap(problemsOf);
  const found = branchesOf(schema).map(problemsOf);
  // The branch with the fewest problems is the one that was meant.
  return [...all, ...(found.sort((a, b) => a.length - b.length)[0] ?? [])];
}

/** The keywords that limit numbers, or the length of texts and lists. */
const LIMITS = [
  ['number', 'minimum', 'must be at least', (size, limit) => size >= limit],
  ['number', 'maximum', 'must be at most', (size, limit) => size <= limit],
  ['number', 'exclusiveMinimum', 'must be more than', (size, limit) => size > limit],
  ['number', 'exclusiveMaximum', 'must be less than', (size, limit) => size < limit],
  ['string', 'minLength', 'is shorter than', (size, limit) => size >= limit],
  ['string', 'maxLength', 'is longer than', (size, limit) => size <= limit],
  ['array', 'minItems', 'is shorter than', (size, limit) => size >= limit],
  ['array', 'maxItems', 'is longer than', (size, limit) => size <= limit],
] as const satisfies readonly (readonly [string, string, string, (size: number, limit: number) => boolean])[];

/** Checks the size of a number, a text or a list. */
export function limitProblems(
  schema: JsonObject,
  value: Json | undefined,
  path: Path = [],
): readonly SchemaProblem[] {
  const size = Array.isArray(value) || typeof value === 'string' ? value.length : Number(value);
  return LIMITS.flatMap(([type, keyword, text, isMet]) => {
    const limit = schema[keyword];
    const isWrong = typeof limit === 'number' && isOfType(value, type) && !isMet(size, limit);
    return isWrong ? [{ path, text: `${text} ${limit}` }] : [];
  });
}

export function typeOf(value: Json | undefined): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : value === undefined ? 'nothing' : typeof value;
}

export function isOfType(value: Json | undefined, type: string): boolean {
  return type === 'integer' ? Number.isInteger(value) : typeOf(value) === type;
}

function isSame(a: Json, b: Json | undefined): boolean {
  return a === b || (typeof a === 'object' && b !== undefined && canonicalJson(a) === canonicalJson(b));
}
