import { LangoError } from './errors.js';
import { defined, isJsonObject, listIn, mapMembers, type Json, type JsonObject } from './json.js';
import { percentDecoded, shorten } from './text.js';

/** The largest schema of the arguments of one function, in bytes of JSON. */
const SCHEMA_MAX_BYTES = 64 * 1024;
/** Deeper parts of a schema, and parts beyond the number of nodes, stand for any value. */
const DEPTH_MAX = 16;
const NODES_MAX = 2_500;
/** The most that is read of a schema as a server sends it. */
const GIVEN_MAX_BYTES = 512 * 1024;

/** The details of a schema that an attempt keeps. The next attempt is made when the result of this one is too large. */
interface Effort {
  /** The longest description, in characters. */
  readonly description: number;
  /** The number of times that one reference may be replaced by its target inside itself. */
  readonly repeats: number;
  /** The most that takes the place of references, in bytes of JSON. */
  readonly inlinedBytes: number;
}
const EFFORTS: readonly Effort[] = [
  { description: 500, repeats: 2, inlinedBytes: 128 * 1024 },
  { description: 500, repeats: 1, inlinedBytes: 128 * 1024 },
  { description: 100, repeats: 1, inlinedBytes: 32 * 1024 },
  { description: 0, repeats: 1, inlinedBytes: 32 * 1024 },
];

/** The types of JSON Schema, and the names that servers use for them by mistake. */
const TYPES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...{ string: 'string', number: 'number', integer: 'integer', boolean: 'boolean' },
    ...{ object: 'object', array: 'array', null: 'null' },
    ...{ str: 'string', text: 'string', int: 'integer', long: 'integer', float: 'number', double: 'number' },
    ...{ bool: 'boolean', dict: 'object', map: 'object', list: 'array', tuple: 'array', none: 'null' },
  }),
);

const LIMITS = [
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  ...['minLength', 'maxLength', 'minItems', 'maxItems'],
];
const numberIn = (value: Json | undefined) => (typeof value === 'number' ? value : undefined);

/** The texts of a schema that are kept. */
interface KeptTexts {
  /** Makes a description safe. */
  readonly line: (text: string) => string;
  /** Whether a value may be named as one to choose, or as the default. */
  readonly isWord: (value: Json) => boolean;
}
const ALL_TEXTS: KeptTexts = { line: (text) => text, isWord: () => true };

/**
 * Reads a JSON Schema of arguments, of any draft, as a plain one: draft 2020-12, references replaced by their targets, a
 * reference outside or too often into itself by any value. Each `const` is a list of one value, and `oneOf` is `anyOf`,
 * since a value that fits several branches is for the receiver to refuse. Patterns, formats and conditions are left out, because they are
 * for the receiver to check. Throws `tool` for a schema that is too large or describes no object.
 */
export function readSchema(given: unknown, texts = ALL_TEXTS): JsonObject {
  if (!isJsonObject(given)) throw unreadable('it is no object');
  if (sizeOf(given) > GIVEN_MAX_BYTES) throw unreadable(`it is larger than ${GIVEN_MAX_BYTES} bytes`);
  for (const effort of EFFORTS) {
    const schema = new SchemaReader(given, { ...effort, ...texts }).read();
    if (sizeOf(schema) <= SCHEMA_MAX_BYTES) return schema;
  }
  throw unreadable(`it is larger than ${SCHEMA_MAX_BYTES} bytes, also without descriptions`);
}

const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

function unreadable(why: string): LangoError {
  return new LangoError('tool', `its arguments cannot be described to a model: ${why}`);
}

class SchemaReader {
  readonly #root: JsonObject;
  readonly #effort: Effort & KeptTexts;
  #nodes = 0;
  #inlinedBytes = 0;

  constructor(root: JsonObject, effort: Effort & KeptTexts) {
    this.#root = root;
    this.#effort = effort;
  }

  read(): JsonObject {
    const schema = this.#node(this.#root, 0, []);
    const types = typesOf(schema);
    if (types.length > 0 && !types.includes('object')) throw unreadable('it describes no object');
    return { ...schema, type: 'object' };
  }

  /** `refs`: the references that lead to this node. */
  #node(given: Json | undefined, depth: number, refs: readonly string[]): JsonObject {
    if (given === false) return { not: {} };
    if (!isJsonObject(given)) return {};
    if (depth > DEPTH_MAX || ++this.#nodes > NODES_MAX) return typeMember(given);
    const { $ref, ...siblings } = given;
    if (typeof $ref !== 'string') return this.#members(given, depth, refs);
    const target = this.#find($ref);
    const mayRepeat = refs.filter((ref) => ref === $ref).length < this.#effort.repeats;
    const inlined =
      mayRepeat && this.#hasRoomFor(target)
        ? this.#node(target, depth + 1, [...refs, $ref])
        : typeMember(isJsonObject(target) ? target : {});
    return { ...inlined, ...this.#members(siblings, depth, refs) };
  }

  /** Counts what takes the place of a reference, so that references inside references end. */
  #hasRoomFor(target: Json | undefined): boolean {
    const { inlinedBytes } = this.#effort;
    if (this.#inlinedBytes < inlinedBytes) this.#inlinedBytes += sizeOf(target ?? null);
    return this.#inlinedBytes < inlinedBytes;
  }

  #members(given: JsonObject, depth: number, refs: readonly string[]): JsonObject {
    const node = (value: Json | undefined) => this.#node(value, depth + 1, refs);
    const { properties, patternProperties, additionalProperties: further } = given;
    const isTuple = Array.isArray(given['items']);
    const items = isTuple ? given['additionalItems'] : given['items'];
    const prefix = isTuple ? given['items'] : given['prefixItems'];
    const members: Record<string, Json | undefined> = {
      ...typeMember(given),
      description: this.#text(given['description']),
      ...this.#values(given),
      properties: isJsonObject(properties) ? mapMembers(properties, node) : undefined,
      required: textList(given['required']),
      // Names that fit a pattern are further names.
      additionalProperties:
        isJsonObject(patternProperties) ||
        (further === undefined || typeof further === 'boolean' ? further : node(further)),
      items: items === undefined || items === false ? undefined : node(items),
      prefixItems: Array.isArray(prefix) ? prefix.map(node) : undefined,
      ...limitMembers(given),
    };
    const branchesIn = (key: string) => listIn(given[key]).map((one) => node(one as Json));
    const [anyOf, second] = [branchesIn('anyOf'), branchesIn('oneOf')].filter(({ length }) => length > 0);
    const allOf = [...branchesIn('allOf'), ...(second ? [{ anyOf: second }] : [])];
    Object.assign(members, { anyOf, ...(allOf.length > 0 && { allOf }) });
    for (const key of ['then', 'else']) if (isJsonObject(given[key])) members[key] = node(given[key]);
    return defined(members);
  }

  #text(given: Json | undefined): string | undefined {
    const { description, line } = this.#effort;
    return typeof given === 'string' && description > 0 ? shorten(line(given), description) : undefined;
  }

  #values({ enum: values, const: value, nullable, default: preset }: JsonObject): JsonObject {
    const isList = Array.isArray(values) && values.length > 0;
    const listed = value !== undefined ? [value] : isList ? (values as readonly Json[]) : undefined;
    const mayBeNull = nullable === true && listed && !listed.includes(null);
    const words = (mayBeNull ? [...listed, null] : listed)?.filter(this.#effort.isWord);
    return {
      enum: words?.length === 0 ? undefined : words,
      default: preset !== undefined && this.#effort.isWord(preset) ? preset : undefined,
    };
  }

  /** Returns the target of a reference inside the schema; undefined for any other. */
  #find(ref: string): Json | undefined {
    const { $id = '', $defs, definitions } = this.#root;
    const local = typeof $id === 'string' && ref.startsWith($id) ? ref.slice($id.length) : ref;
    if (local === '#' || local === '') return this.#root;
    if (local.startsWith('#/')) return this.#pointed(local.slice(2).split('/'));
    const named = [$defs, definitions].flatMap((defs) => (isJsonObject(defs) ? Object.values(defs) : []));
    const names = (one: JsonObject) => [one['$id'], one['id'], `#${one['$anchor'] as string}`];
    return named.find((one) => isJsonObject(one) && names(one).includes(local));
  }

  #pointed(path: readonly string[]): Json | undefined {
    let at: Json | undefined = this.#root;
    for (const word of path) {
      const key = percentDecoded(word).replaceAll('~1', '/').replaceAll('~0', '~');
      if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined;
      at = (at as JsonObject)[key];
    }
    return at;
  }
}

/** The types that a schema names; empty when it names none, so that any value fits. */
export function typesOf({ type }: JsonObject): readonly string[] {
  const given = Array.isArray(type) ? (type as readonly Json[]) : [type];
  const known = given.map((one) => (typeof one === 'string' ? TYPES.get(one.toLowerCase()) : undefined));
  return known.some((one) => one === undefined) ? [] : [...new Set(known as string[])];
}

function typeMember(given: JsonObject): JsonObject {
  const types = typesOf(given);
  const all = given['nullable'] === true && types.length > 0 ? [...new Set([...types, 'null'])] : types;
  return all.length === 0 ? {} : { type: all.length === 1 ? all[0]! : all };
}

/** The limits of values. In draft 4, `exclusiveMinimum: true` is about `minimum`. */
function limitMembers(given: JsonObject): JsonObject {
  const { exclusiveMinimum, exclusiveMaximum, minimum, maximum, ...others } = given;
  const limits: JsonObject = {
    ...others,
    ...(exclusiveMinimum === true ? { exclusiveMinimum: minimum } : { exclusiveMinimum, minimum }),
    ...(exclusiveMaximum === true ? { exclusiveMaximum: maximum } : { exclusiveMaximum, maximum }),
  };
  return Object.fromEntries(LIMITS.map((key) => [key, numberIn(limits[key])]));
}

function textList(given: Json | undefined): readonly string[] | undefined {
  const texts = listIn(given).filter((one) => typeof one === 'string');
  return texts.length === 0 ? undefined : [...new Set(texts)];
}
