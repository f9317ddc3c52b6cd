import { hash } from 'node:crypto';
import { canonicalJson } from './canonical-json.js';
import { defined, isJsonObject, mapMembers, type Json, type JsonObject } from './json.js';
import { typesOf } from './json-schema.js';

/** The names of arguments that all vendors take. */
const FIT = /^[a-zA-Z0-9_.-]+$/;
const UNFIT = /[^a-zA-Z0-9_.-]+/g;
const LONGEST_NAME = 64;
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

/**
 * Gives each name another form: the one of `formOf`, as long as no other name has it, and it has 1 to 64 characters. Else
 * with a hash of the name at its end.
 */
export function namesThatFit(
  names: readonly string[],
  formOf: (name: string) => string,
): ReadonlyMap<string, string> {
  const byForm = Map.groupBy(names, formOf);
  return new Map(
    names.map((name) => {
      const form = formOf(name);
      const isOwn = form === name || byForm.get(form)!.length === 1;
      if (isOwn && form !== '' && form.length <= LONGEST_NAME) return [name, form];
      const mark = `_${hash('sha256', name, 'hex').slice(0, MARK_LENGTH)}`;
      return [name, `${form.slice(0, LONGEST_NAME - mark.length) || 'key'}${mark}`];
    }),
  );
}

/** Names each key as all vendors take it: those that fit keep their names. */
export const fittedKeys = (keys: readonly string[]): ReadonlyMap<string, string> =>
  namesThatFit(keys, (key) => (FIT.test(key) ? key : key.replace(UNFIT, '_').replace(/^_+|_+$/g, '')));

/**
 * Describes arguments of `readSchema` to a model: one plain object at the top, names that all vendors take, and no keyword
 * that only refuses values.
 */
export function modelSchema(schema: JsonObject): JsonObject {
  const { sets, properties, required, further } = flatten(schema);
  const texts = [schema['description'], ...sets.map((one) => `Give one of these: ${one.join('; or ')}.`)];
  const description = texts.filter((one) => typeof one === 'string').join(' ');
  return described({
    type: 'object',
    ...(description !== '' && { description }),
    properties,
    required: required.filter((key) => Object.hasOwn(properties, key)),
    ...(further !== undefined && { additionalProperties: further }),
  });
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
  const choices = branchesOf('anyOf');
  const conditional = ['then', 'else'].flatMap((key) => (isJsonObject(schema[key]) ? [schema[key]] : []));
  return [
    ...branchesOf('allOf').map(flatten),
    ...(choices.length > 0 ? [either(choices)] : []),
    ...conditional.map((branch) => ({ ...flatten(branch), required: [], sets: [] })),
  ].reduce(both, own);
}

/** Returns a schema that holds when both hold. */
function both(a: Flat, b: Flat): Flat {
  const shared = mapMembers(b.properties, (value, key) => ({ ...a.properties[key], ...value }));
  return {
    properties: { ...a.properties, ...shared },
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
  const constants = mapMembers(properties, ({ enum: values }) => (isOne(values) ? values[0] : undefined));
  const named = Object.entries(defined(constants)).map(([key, one]) => `${key} ${JSON.stringify(one)}`);
  return [...named, ...required.filter((key) => constants[key] === undefined)].join(' and ');
}

const isOne = (values: Json | undefined): values is readonly Json[] =>
  Array.isArray(values) && values.length === 1;

/** A schema for values of any of these. Equal ones are one, and constants become a list of values. */
function oneOf(schemas: readonly JsonObject[]): JsonObject {
  const distinct = [...new Map(schemas.map((one) => [canonicalJson(one), one])).values()];
  if (distinct.length === 1) return distinct[0]!;
  const lists = distinct.map(({ enum: values }) => values);
  if (lists.every((list) => Array.isArray(list))) {
    const values = [...new Map(lists.flat().map((one) => [canonicalJson(one), one])).values()] as Json[];
    return { ...distinct[0]!, enum: values };
  }
  return distinct.length > MOST_ALTERNATIVES ? {} : { anyOf: distinct };
}

/** A part of a schema for a model. Vendors want `items` in each list, and take no tuples and no branches but `anyOf`. */
function described(given: JsonObject): JsonObject {
  const schema = withoutAllOf(given);
  const { properties, items, prefixItems, additionalProperties: further, anyOf } = schema;
  const kept = Object.entries(schema).filter(([key]) => !CHANGED.has(key));
  const isList = items !== undefined || prefixItems !== undefined || typesOf(schema).includes('array');
  return {
    ...Object.fromEntries<Json | undefined>(kept),
    ...(isJsonObject(properties) && membersFor(properties as Members, listIn(schema, 'required'))),
    ...(isList && { items: itemsOf(items, prefixItems) }),
    ...(further === true && { additionalProperties: true }),
    ...(isJsonObject(further) && { additionalProperties: described(further) }),
    ...(anyOf !== undefined && { anyOf: (anyOf as readonly JsonObject[]).map(described) }),
  };
}

/** The members of an object under names that all vendors take. Each renamed one says its own name, if readable. */
function membersFor(properties: Members, required: readonly string[]): JsonObject {
  const names = fittedKeys(Object.keys(properties));
  const members = Object.entries(properties).map(([key, value]) => {
    const [name, member] = [names.get(key)!, described(value)];
    if (name === key || !READABLE.test(key)) return [name, member];
    const about = typeof member['description'] === 'string' ? ` ${member['description']}` : '';
    return [name, { ...member, description: `(named ${JSON.stringify(key)})${about}` }];
  });
  return {
    properties: Object.fromEntries(members) as JsonObject,
    ...(required.length > 0 && { required: required.map((key) => names.get(key) ?? key) }),
  };
}

/** The keywords that a model gets in another form or not at all. */
const CHANGED: ReadonlySet<string> = new Set([
  ...VALIDATION_KEYWORDS,
  ...['properties', 'required', 'additionalProperties', 'items', 'prefixItems'],
  ...['anyOf', 'not', 'then', 'else'],
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
