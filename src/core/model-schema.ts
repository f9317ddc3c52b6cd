import { hash } from 'node:crypto';
import { canonicalJson } from './canonical-json.js';
import { isJsonObject, mapMembers, type Json, type JsonObject } from './json.js';
import { typesOf } from './json-schema.js';

/** The names of arguments that all vendors take. */
const FIT = /^[a-zA-Z0-9_.-]{1,64}$/;
const UNFIT = /[^a-zA-Z0-9_.-]+/g;
const LONGEST_KEY = 64;
/** A name that a model may read as it is: of visible characters, and not as long as an instruction. */
const READABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]{1,100}$/u;
const MARK_LENGTH = 6;
const MOST_ALTERNATIVES = 8;

type Members = Readonly<Record<string, JsonObject>>;

/** Keywords that only refuse values. They cost tokens in every call of the model, and the check says what they would. */
export const VALIDATION_KEYWORDS = [
  ...['pattern', 'format', 'minLength', 'maxLength', 'minItems', 'maxItems'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'propertyNames', '$schema'],
] as const;

/** Names each key as all vendors take it: those that fit keep their names. Undefined when all fit. */
export function fittedKeys(keys: readonly string[]): ReadonlyMap<string, string> | undefined {
  if (keys.every((key) => FIT.test(key))) return undefined;
  const taken = new Set(keys.filter((key) => FIT.test(key)));
  return new Map(
    keys.map((key) => {
      if (FIT.test(key)) return [key, key];
      const plain = key.replace(UNFIT, '_').replace(/^_+|_+$/g, '');
      const mark = `_${hash('sha256', key, 'hex').slice(0, MARK_LENGTH)}`;
      const isAlone = FIT.test(plain) && !taken.has(plain);
      const name = isAlone ? plain : `${plain.slice(0, LONGEST_KEY - mark.length) || 'key'}${mark}`;
      taken.add(name);
      return [key, name];
    }),
  );
}

/** Renames the arguments of a schema, at all depths, as all vendors take them. Each renamed one says its own name, if readable. */
export function withFittedKeys<Schema extends Json>(schema: Schema): Schema {
  if (Array.isArray(schema)) return schema.map((one: Json) => withFittedKeys(one)) as unknown as Schema;
  if (!isJsonObject(schema)) return schema;
  const entries = Object.entries(schema).map(([key, value]) =>
    key === 'enum' || key === 'const' || key === 'default' || key === 'properties'
      ? [key, value]
      : [key, withFittedKeys(value!)],
  );
  const fitted = Object.fromEntries(entries) as JsonObject;
  const { properties, required } = fitted;
  if (!isJsonObject(properties)) return fitted as Schema;
  const names = fittedKeys(Object.keys(properties));
  const nameOf = (key: string) => names?.get(key) ?? key;
  const members = Object.entries(properties as Members).map(([key, value]) => {
    const name = nameOf(key);
    const member = withFittedKeys(value);
    if (name === key) return [name, member];
    if (!READABLE.test(key)) return [name, member];
    const about = typeof member['description'] === 'string' ? ` ${member['description']}` : '';
    return [name, { ...member, description: `(named ${JSON.stringify(key)})${about}` }];
  });
  return {
    ...fitted,
    properties: Object.fromEntries(members) as JsonObject,
    ...(Array.isArray(required) && { required: (required as readonly string[]).map(nameOf) }),
  } as JsonObject as Schema;
}

/** Describes arguments to a model: one plain object at the top, and no keyword that only refuses values. */
export function modelSchema(schema: JsonObject): JsonObject {
  const { sets, ...merged } = flatten(schema);
  const known = merged.required.filter((key) => Object.hasOwn(merged.properties, key));
  const texts = [schema['description'], ...sets.map((one) => `Give one of these: ${one.join('; or ')}.`)];
  const description = texts.filter((one) => typeof one === 'string').join(' ');
  const plain: JsonObject = {
    type: 'object',
    ...(description !== '' && { description }),
    properties: merged.properties,
    ...(known.length > 0 && { required: known }),
    ...(merged.further !== undefined && { additionalProperties: merged.further }),
  };
  return withFittedKeys(described(plain));
}

/** The schema by which arguments are checked: it knows the names of all branches, and no others unless it says so. */
export function checkedSchema(schema: JsonObject): JsonObject {
  const { properties, required, further = false } = flatten(schema);
  return { ...schema, properties, required, additionalProperties: further };
}

/** An object schema whose branches are merged. */
interface Flat {
  readonly properties: Members;
  readonly required: readonly string[];
  readonly further: Json | undefined;
  /** For each choice between branches: what each branch needs, in words. */
  readonly sets: readonly (readonly string[])[];
}

function flatten(schema: JsonObject): Flat {
  const { properties = {}, required = [], additionalProperties } = schema;
  const branchesOf = (key: string) => (schema[key] ?? []) as readonly JsonObject[];
  const own: Flat = {
    properties: properties as Members,
    required: required as readonly string[],
    further: additionalProperties === false ? undefined : additionalProperties,
    sets: [],
  };
  const choices = ['anyOf', 'oneOf'].map(branchesOf).filter((branches) => branches.length > 0);
  const conditional = ['then', 'else'].flatMap((key) => (isJsonObject(schema[key]) ? [schema[key]] : []));
  return [
    ...branchesOf('allOf').map(flatten),
    ...choices.map((branches) => either(branches)),
    ...conditional.map((branch) => ({ ...flatten(branch), required: [], sets: [] })),
  ].reduce(both, own);
}

/** Returns a schema that holds when both hold. */
function both(a: Flat, b: Flat): Flat {
  const shared = Object.entries(b.properties).map(([key, value]) => [
    key,
    { ...a.properties[key], ...value },
  ]);
  return {
    properties: { ...a.properties, ...(Object.fromEntries(shared) as Members) },
    required: [...new Set([...a.required, ...b.required])],
    further: a.further ?? b.further,
    sets: [...a.sets, ...b.sets],
  };
}

/** Returns a schema that holds when one of the branches holds. */
function either(branches: readonly JsonObject[]): Flat {
  const flat = branches.map(flatten);
  const keys = [...new Set(flat.flatMap(({ properties }) => Object.keys(properties)))];
  const merged = keys.map((key) => {
    const given = flat.flatMap(({ properties }) =>
      Object.hasOwn(properties, key) ? [properties[key]!] : [],
    );
    return [key, oneOf(given)] as const;
  });
  const needs = flat.map(needOf);
  return {
    properties: Object.fromEntries(merged),
    required: flat[0]!.required.filter((key) => flat.every(({ required }) => required.includes(key))),
    further: flat.find(({ further }) => further !== undefined)?.further,
    sets: new Set(needs).size > 1 ? [[...new Set(needs.filter((need) => need !== ''))]] : [],
  };
}

/** Describes a branch in words: its constants, and the members that it requires. */
function needOf({ properties, required }: Flat): string {
  const constants = Object.entries(properties).flatMap(([key, { const: value }]) =>
    value === undefined ? [] : [`${key} ${JSON.stringify(value)}`],
  );
  const others = required.filter((key) => properties[key]?.['const'] === undefined);
  return [...constants, ...others].join(' and ');
}

/** A schema for values of any of these. Equal ones are one, and constants become a list of values. */
function oneOf(schemas: readonly JsonObject[]): JsonObject {
  const distinct = [...new Map(schemas.map((one) => [canonicalJson(one), one])).values()];
  if (distinct.length === 1) return distinct[0]!;
  const lists = distinct.map(({ const: value, enum: values }) => (value === undefined ? values : [value]));
  if (lists.every((list) => Array.isArray(list))) {
    const values = [...new Map(lists.flat().map((one) => [canonicalJson(one), one])).values()] as Json[];
    const { const: _, ...first } = distinct[0]!;
    return { ...first, enum: values };
  }
  return distinct.length > MOST_ALTERNATIVES ? {} : { anyOf: distinct };
}

/** A part of a schema for a model. Vendors want `items` in each list, and take no tuples and no branches but `anyOf`. */
function described(given: JsonObject): JsonObject {
  const schema = withoutAllOf(given);
  const { properties, items, prefixItems, additionalProperties: further, const: value } = schema;
  const kept = Object.entries(schema).filter(([key]) => !CHANGED.has(key));
  const branches = [schema['anyOf'], schema['oneOf']].find((one) => Array.isArray(one));
  const isList = items !== undefined || prefixItems !== undefined || typesOf(schema).includes('array');
  return {
    ...Object.fromEntries<Json | undefined>(kept),
    ...(value !== undefined && { enum: [value] }),
    ...(isJsonObject(properties) && { properties: mapMembers(properties as Members, described) }),
    ...(isList && { items: itemsOf(items, prefixItems) }),
    ...(further === true && { additionalProperties: true }),
    ...(isJsonObject(further) && { additionalProperties: described(further) }),
    ...(branches && { anyOf: (branches as readonly JsonObject[]).map(described) }),
  };
}

/** The keywords that a model gets in another form or not at all. */
const CHANGED: ReadonlySet<string> = new Set([
  ...VALIDATION_KEYWORDS,
  ...['properties', 'additionalProperties', 'items', 'prefixItems', 'const'],
  ...['anyOf', 'oneOf', 'not', 'then', 'else'],
]);

/** Merges the members of `allOf` into the schema around it, whose own members win. */
function withoutAllOf({ allOf, ...own }: JsonObject): JsonObject {
  const parts = ((allOf ?? []) as readonly JsonObject[]).map(withoutAllOf);
  return parts.reduce((whole, part) => {
    const listOf = (key: string) => [...listIn(part, key), ...listIn(whole, key)];
    const properties = { ...(part['properties'] as Members), ...(whole['properties'] as Members) };
    return {
      ...part,
      ...whole,
      ...(Object.keys(properties).length > 0 && { properties }),
      ...(listOf('required').length > 0 && { required: [...new Set(listOf('required'))] }),
    };
  }, own);
}

const listIn = (schema: JsonObject, key: string) => (schema[key] ?? []) as readonly string[];

function itemsOf(items: Json | undefined, prefix: Json | undefined): JsonObject {
  const given = isJsonObject(items) ? [items] : [];
  const all = [...((prefix ?? []) as readonly JsonObject[]), ...given];
  return all.length === 0 ? {} : described(oneOf(all));
}
