import { LangoError } from './errors.js';

/** A value that JSON can hold without loss. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json | undefined;
}

const { isFinite } = Number;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/*
 * Readers of members that others sent. A member of the wrong type counts as missing, since many senders leave some out.
 */

export const textIn = (value: unknown): string => (typeof value === 'string' ? value : '');

export const objectIn = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});

export const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export const objectsIn = (value: unknown): readonly JsonObject[] => listIn(value).filter(isJsonObject);

/** Reads a number of things, such as tokens, or an index; 0 when it is missing. */
export function countIn(value: unknown): number {
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : 0;
}

export function mapMembers<Value, Result>(
  members: Readonly<Record<string, Value>>,
  convert: (value: Value, name: string) => Result,
): Record<string, Result> {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name, convert(value, name)]));
}

/** Freezes plain data with all objects in it, so that it can be shared. */
export function freezeData<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  for (const member of Object.values(value)) freezeData(member);
  return Object.freeze(value);
}

/** Parses a JSON text; undefined when it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The object of a JSON text; undefined for any other text. */
export function parseObject(text: string): JsonObject | undefined {
  const value = parseJson(text);
  return isJsonObject(value) ? value : undefined;
}

const ID_TEXTS = new WeakMap<object, string>();
const ID = /"id"\s*:\s*(-?\d[\d.eE+-]*)/;

/** Keeps the text of the numeric `id` of a parsed object where a number would lose a part of it: 9007199254740993. */
export function keepIdOf(value: unknown, text: string): void {
  if (!isJsonObject(value) || typeof value['id'] !== 'number') return;
  if (ID.exec(text)?.[1] === String(value['id'])) return;
  const sources = new Map<unknown, string | undefined>();
  const whole: unknown = JSON.parse(text, function (this: unknown, ...[key, one, context]: Revived) {
    if (key === 'id' && typeof one === 'number') sources.set(this, context?.source);
    return one;
  });
  const source = sources.get(whole);
  if (source !== undefined) ID_TEXTS.set(value, source);
}

/** TypeScript does not know the last argument of a reviver yet. */
type Revived = [key: string, one: unknown, context?: { readonly source?: string }];

/** Returns the `id` of a parsed object as JSON, with all its digits. */
export function idTextOf(value: JsonObject): string {
  return ID_TEXTS.get(value) ?? JSON.stringify(value['id'] ?? null);
}

const LINE_ENDS = /[\u0085\u2028\u2029]/g;

/** Escapes the line ends that JSON allows in texts: some clients split an event stream at them (`str.splitlines` of Python). */
export function onOneLine(json: string): string {
  return json.replace(LINE_ENDS, (end) => `\\u${end.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The members that are set, for an object whose optional members are absent rather than undefined. Not for names from outside. */
export function defined<Members extends object>(members: Members) {
  const set: { [Name in keyof Members]?: Exclude<Members[Name], undefined> } = {};
  for (const name in members)
    if (members[name] !== undefined) set[name] = members[name] as (typeof set)[typeof name];
  return set;
}

export interface JsonLimits {
  /** Arrays and objects inside each other. */
  readonly depth: number;
  /** Members of one object. */
  readonly keys: number;
  /** Arrays and objects in all. Default: `MAX_CONTAINERS`. */
  readonly containers?: number;
}

/** The most arrays and objects in one value from outside. Each costs time at many places, so many small ones cost most. */
export const MAX_CONTAINERS = 25_000;

/** The deepest value that functions which recurse are given. */
const SAFE_LIMITS: JsonLimits = { depth: 64, keys: 10_000 };

/** Throws `invalid-input` for a decoded value beyond `limits`. Works without recursion: deep input would overflow the stack. */
export function assertJsonValue(root: unknown, limits = SAFE_LIMITS): void {
  let level: unknown[] = [root];
  let containers = 0;
  for (let depth = 0; level.length > 0; depth += 1) {
    const next: unknown[] = [];
    for (const value of level) {
      if (typeof value === 'number' && !isFinite(value)) throw infiniteNumber();
      if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) continue;
      if (depth >= limits.depth) throw tooDeep(limits.depth);
      if (++containers > (limits.containers ?? MAX_CONTAINERS)) throw tooManyContainers();
      const members = Object.values(value);
      if (!Array.isArray(value) && members.length > limits.keys) throw tooManyKeys(limits.keys);
      for (const member of members) next.push(member);
    }
    level = next;
  }
}

const refused = (text: string): LangoError => new LangoError('invalid-input', text);
export const tooDeep = (limit: number) => refused(`The JSON is nested deeper than ${limit} levels.`);
export const tooManyKeys = (limit: number) => refused(`A JSON object has more than ${limit} members.`);
export const tooManyContainers = () => refused(`The JSON has more than ${MAX_CONTAINERS} lists and objects.`);
export const infiniteNumber = () => refused('A number is one that JSON cannot hold.');

/** Whether functions which recurse can take a decoded value. */
export function isSafeJson(value: unknown): value is Json | undefined {
  try {
    assertJsonValue(value);
    return true;
  } catch {
    return false;
  }
}

/** Parses a JSON text; undefined when it is none, or one that functions which recurse could not take. */
export function parseSafeJson(text: string): Json | undefined {
  const value = parseJson(text);
  return isSafeJson(value) ? value : undefined;
}
