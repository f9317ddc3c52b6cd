import { isJsonObject, type Json, type JsonObject } from '../../core/json.js';
import { hasParameter } from './abilities.js';
import type { Match } from './interpreter.js';
import { argumentInReply, kindOf, parameterSchema, toArgument, type Kind } from './kinds.js';
import { isReference, refersToText } from './references.js';
import type { Outcome } from './turn.js';
import { FILLERS } from './vocabulary.js';
import { stemsOf } from './words.js';

/** The arguments of a call, and those that are still needed for it. */
export interface Built {
  readonly arguments: JsonObject;
  readonly missing: readonly string[];
}

export interface Material {
  /** The sentence: what `{request}` stands for. */
  readonly request: string;
  /** What "it" stands for. */
  readonly earlier: Outcome | undefined;
  /** The person's answers to what was missing, in the order of the questions; one that does not fit is passed over. */
  readonly replies: readonly string[];
}

const PLACEHOLDERS = /\{(\w+)\}/g;

/** Puts the values of a sentence, what came before it and the answers of the person into a call's arguments. */
export function buildArguments(match: Match, material: Material): Built {
  const values = readValues(match, material);
  let built = build(match, values, material.request);
  for (const reply of material.replies) {
    const name = built.missing[0];
    if (name === undefined) break;
    const value = argumentInReply(kindIn(match, name), reply);
    if (value !== undefined) values.set(name, value);
    built = build(match, values, material.request);
  }
  return built;
}

/** `text` with each `{name}` replaced by its value; those without one stay. */
export function fillText(text: string, values: ReadonlyMap<string, string>): string {
  return text.replace(PLACEHOLDERS, (placeholder, name: string) => values.get(name) ?? placeholder);
}

function readValues(match: Match, { request, earlier }: Material): Map<string, Json> {
  const values = new Map<string, Json>();
  for (const [name, value] of match.values) {
    const kind = kindIn(match, name);
    const text = isReference(value) ? earlierValue(name, kind, earlier) : value.text;
    // Without anything before it, "it" may be meant as a text, but is no name of a file.
    const argument = toArgument(kind, text ?? value.text);
    if (argument !== undefined && (text !== undefined || refersToText(kind))) values.set(name, argument);
  }
  // "create a.txt … and then read the file"
  const endsVaguely = FILLERS.has(stemsOf(request.slice(-100)).at(-1) ?? '');
  for (const name of endsVaguely ? match.missing : []) {
    const text = refersToText(kindIn(match, name)) ? undefined : earlier?.values.get(name);
    if (text !== undefined) values.set(name, text);
  }
  return values;
}

function earlierValue(name: string, kind: Kind, earlier: Outcome | undefined): string | undefined {
  return refersToText(kind) ? earlier?.text : earlier?.values.get(name);
}

function build({ ability }: Match, values: ReadonlyMap<string, Json>, request: string): Built {
  const { parameters } = ability.spec;
  const fixed = ability.example.arguments ?? {};
  const missing: string[] = [];
  const all = new Map<string, Json>([['request', request], ...values]);
  const filled = fill(fixed, all, missing);
  const used = new Set(JSON.stringify(fixed).match(PLACEHOLDERS));
  const spoken = [...values].filter(
    ([name]) => !used.has(`{${name}}`) && !(name in fixed) && hasParameter(parameters, name),
  );
  const args: JsonObject = { ...Object.fromEntries(spoken), ...(isJsonObject(filled) ? filled : {}) };
  const required = requiredNames(parameters).filter((name) => args[name] === undefined);
  return { arguments: args, missing: [...new Set([...missing, ...required])] };
}

function fill(value: Json, values: ReadonlyMap<string, Json>, missing: string[]): Json {
  if (typeof value === 'string') return fillString(value, values, missing);
  if (typeof value !== 'object' || value === null) return value;
  if (!isJsonObject(value)) return value.map((item) => fill(item, values, missing));
  const members = Object.entries(value).flatMap(([name, member]): readonly (readonly [string, Json])[] =>
    member === undefined
      ? []
      : [[textOfValue(fillString(name, values, missing)), fill(member, values, missing)]],
  );
  return Object.fromEntries(members);
}

function fillString(text: string, values: ReadonlyMap<string, Json>, missing: string[]): Json {
  const names = [...text.matchAll(PLACEHOLDERS)].map((found) => found[1] ?? '');
  missing.push(...names.filter((name) => !values.has(name)));
  const [only] = names;
  if (only !== undefined && text === `{${only}}`) return values.get(only) ?? '';
  return text.replace(PLACEHOLDERS, (_, name: string) => textOfValue(values.get(name)));
}

/** A value in words: text as it is, else JSON. Empty for none. */
export function textOfValue(value: Json | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? '');
}

/** What an argument may be. */
export function kindIn({ ability }: Match, name: string): Kind {
  const element = ability.template.find((each) => each.type === 'placeholder' && each.name === name);
  if (element?.type === 'placeholder') return element.kind;
  return kindOf(name, parameterSchema(ability.spec.parameters, name));
}

/** Parameters with a default are not asked for, whether or not the schema calls them required. */
function requiredNames(parameters: JsonObject): readonly string[] {
  const { required } = parameters;
  if (!Array.isArray(required)) return [];
  return required.filter(
    (name): name is string =>
      typeof name === 'string' && parameterSchema(parameters, name)?.default === undefined,
  );
}
