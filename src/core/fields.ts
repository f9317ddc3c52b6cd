import { z } from 'zod';
import type { Path } from './findings.js';
import { FLAT_AGENT_NAME, ORCHESTRATOR_NAME, AGENT_NAME } from './agent.js';

const ROOT_NAMES: readonly string[] = [ORCHESTRATOR_NAME, FLAT_AGENT_NAME];
const NAME_FORM = 'must be lower-case letters, digits and "_", beginning with a letter';
/** The characters that an HTTP header may carry. */
export const SECRET_PATTERN = /^[\x21-\x7e]+$/;
/** Node's timers fire at once for delays above 2^31 - 1 ms. This limit stays below. */
const MAX_SECONDS = 2_000_000;

export const KIB = 1024;
export const MIB = 1024 * KIB;

/** A placeholder for the data folder in default paths. */
export const HOME_MARK = '${LANGO_HOME}';

// Keys share these schemas, because creating schemas takes a large part of every start.
const FLAG = z.boolean();
const COUNT = z.int().min(1).max(Number.MAX_SAFE_INTEGER);
const SECONDS = z.number().positive().max(MAX_SECONDS);
const PORT = z.int().min(0).max(65_535);
const TEXT = z.string().trim().min(1, 'must not be empty');
const PATH = z.string().min(1, 'must not be empty');
/** The `path()` of a SQLite database in memory. */
export const IN_MEMORY = ':memory:';
/** Files and editors end a key with a line break, which no key has. */
const withoutLineEnd = (value: string): string => value.replace(/[\r\n]+$/, '');

const SECRET = z
  .string()
  .overwrite(withoutLineEnd)
  .regex(SECRET_PATTERN, 'must be printable ASCII without spaces, as it travels in an HTTP header')
  .optional();

/** A group of keys. A group that is left out has the defaults of its keys. */
export function group<Shape extends z.core.$ZodLooseShape>(
  description: string,
  shape: Shape,
): z.ZodPrefault<z.ZodObject<Shape, z.core.$strict>> {
  return z
    .strictObject(shape)
    .prefault({} as z.input<z.ZodObject<Shape, z.core.$strict>>)
    .describe(description);
}

/** The group of tools whose only key switches them on or off. */
export function switchOf(description: string, offer: string) {
  return group(description, { enabled: flag(true, offer) });
}

/** A key without a default. */
export function optional<Schema extends z.ZodType>(schema: Schema, description: string) {
  return schema.optional().describe(description);
}

export function flag(fallback: boolean, description: string): z.ZodDefault<z.ZodBoolean> {
  return FLAG.default(fallback).describe(description);
}

/** A whole number: from 1 up, unless `min` says otherwise. */
export function count(
  fallback: number,
  description: string,
  { min = 1, max = Number.MAX_SAFE_INTEGER } = {},
): z.ZodDefault<z.ZodInt> {
  const isUsual = min === 1 && max === Number.MAX_SAFE_INTEGER;
  const schema = isUsual ? COUNT : z.int().min(min).max(max);
  return schema.default(fallback).describe(description);
}

export function seconds(fallback: number, description: string): z.ZodDefault<z.ZodNumber> {
  return SECONDS.default(fallback).describe(description);
}

/** A port. 0 takes a free one. */
export function port(fallback: number, description: string): z.ZodDefault<z.ZodInt> {
  return PORT.default(fallback).describe(description);
}

export function choice<const Words extends readonly [string, ...string[]]>(
  words: Words,
  fallback: NoInfer<Words[number]>,
  description: string,
) {
  return z
    .enum(words)
    .default(fallback as never)
    .describe(description);
}

/** A list that is empty by default. */
export function list<Items extends z.ZodType<readonly unknown[]>>(items: Items, description: string) {
  return items.default([] as never).describe(description);
}

export function text(): z.ZodString {
  return TEXT;
}

/** A file or folder. A relative path starts at the folder of the configuration file; `~/` is the user's home. */
export function path(): z.ZodString {
  return PATH;
}

/** The kind of a value of the settings that needs care. */
type Kind = 'path' | 'secret';

/** Stands for a value that a copy leaves out. */
export const LEFT_OUT = Symbol('left out');

/** Changes a path or a secret that is at `path` below the whole value. */
type Change = (value: unknown, kind: Kind, path: Path) => unknown;

/** A copy of a checked value, with `change` applied to each path and each secret in it. Both share what has neither. */
export function mapSettings(schema: unknown, value: unknown, change: Change): unknown {
  return (mapperOf(schema) ?? unchanged)(value, [], change);
}

type Mapper = (value: unknown, path: Path, change: Change) => unknown;
const unchanged: Mapper = (value) => value;

/** By schema. Without a mapper, the values of a schema hold neither a path nor a secret. */
const mappers = new WeakMap<object, Mapper | undefined>();

function mapperOf(schema: unknown): Mapper | undefined {
  if (!(schema instanceof z.ZodType)) return undefined;
  if (!mappers.has(schema)) {
    // A schema that contains itself finds this one.
    mappers.set(schema, (...given) => (mapperOf(schema) ?? unchanged)(...given));
    mappers.set(schema, newMapper(schema));
  }
  return mappers.get(schema);
}

function newMapper(schema: z.ZodType): Mapper | undefined {
  if (z.globalRegistry.get(schema)?.['writeOnly'] === true)
    return (value, path, change) => (value === undefined ? value : change(value, 'secret', path));
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional)
    return mapperOf(schema.unwrap());
  if (schema instanceof z.ZodUnion) return unionMapper(schema.options as readonly z.ZodType[]);
  // `describe` makes another schema of the same definition.
  if (schema.def === PATH.def)
    return (value, path, change) => (typeof value === 'string' ? change(value, 'path', path) : value);
  if (schema instanceof z.ZodArray) return listMapper(mapperOf(schema.element));
  if (schema instanceof z.ZodRecord) {
    const mapper = mapperOf(schema.valueType);
    return mapper && membersMapper(() => mapper);
  }
  if (!(schema instanceof z.ZodObject)) return undefined;
  const members = Object.entries(schema.shape).map(([key, member]) => [key, mapperOf(member)] as const);
  const mapped = new Map(members.filter(([, mapper]) => mapper));
  return mapped.size === 0 ? undefined : membersMapper((key) => mapped.get(key));
}

function unionMapper(options: readonly z.ZodType[]): Mapper | undefined {
  if (!options.some(mapperOf)) return undefined;
  return (value, path, change) => {
    const branch = options.find((option) => option.safeParse(value).success);
    return (mapperOf(branch) ?? unchanged)(value, path, change);
  };
}

function listMapper(mapper: Mapper | undefined): Mapper | undefined {
  if (!mapper) return undefined;
  return (value, path, change) =>
    Array.isArray(value) ? value.map((item, index) => mapper(item, [...path, index], change)) : value;
}

function membersMapper(mapperFor: (key: string) => Mapper | undefined): Mapper {
  return (value, path, change) => {
    if (typeof value !== 'object' || value === null) return value;
    const copy: Record<string, unknown> = {};
    // A checked value has no member `__proto__`.
    for (const [key, item] of Object.entries(value)) {
      const mapper = mapperFor(key);
      const mapped = mapper ? mapper(item, [...path, key], change) : (item as unknown);
      if (mapped !== LEFT_OUT) copy[key] = mapped;
    }
    return copy;
  };
}

/** A value that `Config` leaves out. JSON Schema's `writeOnly` marks it. */
export function secret(description: string): z.ZodOptional<z.ZodString> {
  return SECRET.meta({ description, writeOnly: true });
}

/** One line of text that `Config` leaves out. */
export function secretLine() {
  return z
    .string()
    .overwrite(withoutLineEnd)
    .regex(/^[^\0\r\n]*$/, 'must be one line')
    .meta({ writeOnly: true });
}

/** Headers of requests. `Config` leaves their values out. */
export function secretHeaders(description: string) {
  return z
    .record(z.string().regex(/^[A-Za-z0-9-]+$/, 'must be the name of a header'), secretLine())
    .default({})
    .meta({ description, writeOnly: true });
}

export function agentName(): z.ZodString {
  return z.string().regex(AGENT_NAME, 'must be lower-case letters, digits and "-", beginning with a letter');
}

/** The name of a local or remote sub-agent: any name but that of a root agent. */
export function subAgentName(): z.ZodString {
  const text = 'is the name of a root agent; choose another one';
  return agentName().refine((name) => !ROOT_NAMES.includes(name), text);
}

export function toolName(): z.ZodString {
  return z.string().regex(/^[a-z][a-z0-9_]{0,63}$/, NAME_FORM);
}

export function toolPrefix(): z.ZodString {
  return z.string().regex(/^[a-z][a-z0-9_]*$/, NAME_FORM);
}

export function variableName(): z.ZodString {
  return z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable');
}

/** A host name or address, without a port. */
export function host(): z.ZodString {
  const plain = z.string().regex(/^[^\s/@]+$/, 'must be a host name or an address, without a scheme or path');
  return plain.overwrite((name) => name.replace(/^\[(.+)\]$/, '$1'));
}

/** An http or https address. It must not hold credentials, as addresses are logged. */
export function httpUrl(): z.ZodString {
  return z.string().superRefine((value, context) => {
    const problem = urlProblem(value);
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
  });
}

function urlProblem(value: string): string | undefined {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    return 'must be an http:// or https:// address';
  if (url.username !== '' || url.password !== '') return 'must not hold a user name or password';
  return undefined;
}

/** A list without two entries of the same `key`. `keyPath` leads from an entry to its key. */
export function distinct<Item extends z.ZodType>(
  item: Item,
  key: (item: z.output<Item>) => string,
  keyPath: readonly PropertyKey[] = [],
): z.ZodArray<Item> {
  return z.array(item).superRefine((items, context) => {
    const first = new Map<string, number>();
    items.forEach((each, index) => {
      const earlier = first.get(key(each));
      if (earlier === undefined) first.set(key(each), index);
      else {
        const message = `is a duplicate of entry ${earlier + 1}`;
        context.addIssue({ code: 'custom', message, path: [index, ...keyPath] });
      }
    });
  });
}

/** The fields of settings, for capabilities from outside. Each has a default or is optional, and a description. */
export const fields = { group, flag, count, seconds, choice, list, optional, text, path, httpUrl, secret };
