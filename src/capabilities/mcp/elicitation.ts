import { z } from 'zod';
import { isJsonObject, parseObject } from '../../core/json.js';
import { isOfType, limitProblems } from '../../core/schema-check.js';
import { shorten } from '../../core/text.js';
import type { ToolContext } from '../../core/tool.js';

const LARGEST_REQUEST = 8 * 1024;
const MOST_FIELDS = 16;
const MOST_CHOICES = 64;
const LONGEST_MESSAGE = 1_000;
const LONGEST_WORDS = 200;
const LONGEST_URL = 2_000;
const LONGEST_REPLY = 8_000;
/** A name that a person can type before a colon. */
const FIELD_NAME = /^[\p{L}\p{N}_][\p{L}\p{N}_ .-]{0,63}$/u;

const number = z.number().optional();
const words = z.string().optional();
const choice = z.object({ const: z.string(), title: z.string() });
const value = z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]);
// A pattern is left out: it is the server's, and running it could hold this process.
const field = z.object({
  type: z.enum(['string', 'number', 'integer', 'boolean', 'array']),
  ...{ title: words, description: words, format: words },
  ...{ minLength: number, maxLength: number, minimum: number, maximum: number },
  ...{ minItems: number, maxItems: number },
  enum: z.array(z.string()).max(MOST_CHOICES).optional(),
  oneOf: z.array(choice).max(MOST_CHOICES).optional(),
  items: z
    .object({
      enum: z.array(z.string()).max(MOST_CHOICES).optional(),
      anyOf: z.array(choice).max(MOST_CHOICES).optional(),
    })
    .optional(),
  default: value.optional(),
});
const form = z.object({
  mode: z.literal('form').default('form'),
  message: z.string(),
  requestedSchema: z.object({
    properties: z.record(z.string().regex(FIELD_NAME), field),
    required: z.array(z.string()).default([]),
  }),
});
const page = z.object({
  mode: z.literal('url'),
  message: z.string(),
  url: z.url({ protocol: /^https?$/ }).max(LONGEST_URL),
});

/** A request of a server to a person: to fill in the fields of a form, or to open a page. */
export const elicitation = z.union([page, form]).refine((asked) => {
  if (asked.mode === 'url') return new URL(asked.url).username === '' && new URL(asked.url).password === '';
  const names = Object.keys(asked.requestedSchema.properties);
  return names.length <= MOST_FIELDS && asked.requestedSchema.required.every((name) => names.includes(name));
});

export type Elicitation = z.output<typeof elicitation>;
type Form = Extract<Elicitation, { mode: 'form' }>;
type Field = z.output<typeof field>;
type Value = z.output<typeof value>;

/** A person's reply to a server. */
export const elicitResult = z.union([
  z.object({ action: z.literal('accept'), content: z.record(z.string(), value).optional() }),
  z.object({ action: z.enum(['decline', 'cancel']) }),
]);
export type ElicitResult = z.output<typeof elicitResult>;

/** Replies by the names of the questions. */
export type Replies = Readonly<Record<string, ElicitResult>>;

/** Reads a request for input. Returns undefined for one that no person is shown: too large, or not in the form of one. */
export function readElicitation(params: unknown): Elicitation | undefined {
  if (!isJsonObject(params) || JSON.stringify(params).length > LARGEST_REQUEST) return undefined;
  return elicitation.safeParse(params).data;
}

/** The question for a person. All that the server says is quoted on one line, so that it cannot look like our words. */
export function questionText(
  asked: Elicitation,
  { server, tool }: { readonly server: string; readonly tool: string },
): string {
  const start = `The MCP server ${server} asks, while it runs ${quoted(tool)}`;
  const message = quoted(asked.message, LONGEST_MESSAGE);
  if (asked.mode === 'url') {
    const { host, href } = new URL(asked.url);
    return [
      `${start}, that you open a page of ${host}: ${message}`,
      href,
      'Nothing has opened it. Look at the host before you do. Reply: done, once you have; or: decline.',
    ].join('\n');
  }
  const { properties, required } = asked.requestedSchema;
  const fields = Object.entries(properties);
  const lines = fields.map(([name, one]) => `- ${fieldText(name, one, required.includes(name))}`);
  const how =
    fields.length === 0 ? 'yes' : fields.length === 1 ? 'the value' : 'a line "name: value" for each';
  const end = `Reply with ${how}; or with: decline. The server gets what you write: no password.`;
  return [`${start}: ${message}`, ...lines, end].join('\n');
}

function fieldText(name: string, one: Field, required: boolean): string {
  const { title, description, default: standard } = one;
  const about = [title, description].filter((text) => text !== undefined).map((text) => quoted(text));
  const more = [
    ...(required ? [] : ['optional']),
    ...(standard === undefined ? [] : [`${quoted(JSON.stringify(standard))} if you leave it out`]),
  ];
  return `${name}${about.length === 0 ? '' : ` (${about.join(', ')})`}: ${[typeText(one), ...more].join(', ')}`;
}

function typeText(one: Field): string {
  const choices = choicesOf(one)?.map(({ value, title }) =>
    title === undefined ? quoted(value) : `${quoted(value)} (${quoted(title)})`,
  );
  switch (one.type) {
    case 'boolean':
      return 'yes or no';
    case 'number':
    case 'integer':
      return `a ${one.type === 'integer' ? 'whole number' : 'number'}${rangeText(one.minimum, one.maximum)}`;
    case 'array':
      return `some of ${choices?.join(', ') ?? 'nothing'}, with commas between them${rangeText(one.minItems, one.maxItems)}`;
    case 'string':
      if (choices) return `one of ${choices.join(', ')}`;
      return one.format === undefined ? 'a text' : `a text of the form ${quoted(one.format)}`;
  }
}

function rangeText(least: number | undefined, most: number | undefined): string {
  return `${least === undefined ? '' : `, at least ${least}`}${most === undefined ? '' : `, at most ${most}`}`;
}

function choicesOf(one: Field): readonly { readonly value: string; readonly title?: string }[] | undefined {
  const titled = one.oneOf ?? one.items?.anyOf;
  if (titled) return titled.map(({ const: value, title }) => ({ value, title }));
  return (one.enum ?? one.items?.enum)?.map((value) => ({ value }));
}

const quoted = (text: string, longest = LONGEST_WORDS): string => JSON.stringify(shorten(text, longest));

type Given = NonNullable<ToolContext['replied']>['replies'][number];

/** Reads a person's text as the reply to the server, or says what is wrong with the text. */
export function resultOf(asked: Elicitation, given: Given): ElicitResult | { readonly problem: string } {
  if (!given) return { action: 'cancel' };
  if (given.decision === 'deny') return { action: 'decline' };
  const text = given.text?.trim() ?? '';
  const word = /^(decline|cancel)[.!]?$/i.exec(text)?.[1]?.toLowerCase();
  if (word) return { action: word as 'decline' | 'cancel' };
  if (text.length > LONGEST_REPLY) return { problem: `That is longer than ${LONGEST_REPLY} characters.` };
  if (asked.mode === 'url') {
    if (/^(done|yes|ok)?[.!]?$/i.test(text)) return { action: 'accept' };
    return { problem: 'That is neither "done" nor "decline".' };
  }
  return filledIn(asked, text);
}

function filledIn(asked: Form, text: string): ElicitResult | { readonly problem: string } {
  const { properties, required } = asked.requestedSchema;
  const given = valuesIn(text, asked);
  const stray = [...given.keys()].find((name) => !Object.hasOwn(properties, name));
  if (stray !== undefined) return { problem: `There is no field ${quoted(stray)}.` };
  const content: [string, Value][] = [];
  for (const [name, one] of Object.entries(properties)) {
    const value = given.get(name) ?? one.default;
    if (value === undefined && required.includes(name)) return { problem: `A value for ${name} is missing.` };
    if (value === undefined) continue;
    const read = meantBy(value, one);
    if (read === undefined || limitProblems(one, read).length > 0)
      return { problem: `${quoted(JSON.stringify(value))} is not for ${name}: it wants ${typeText(one)}.` };
    content.push([name, read]);
  }
  return { action: 'accept', content: Object.fromEntries(content) };
}

/** The values by field: a JSON object, lines "name: value", or the value of the only field that needs one. */
function valuesIn(text: string, { requestedSchema }: Form): ReadonlyMap<string, unknown> {
  const { properties, required } = requestedSchema;
  const object = parseObject(text);
  if (object) return new Map(Object.entries(object));
  const names = Object.keys(properties);
  if (text === '' || names.length === 0) return new Map();
  const lines = text.split('\n').map((line) => /^\s*([^:]+?)\s*:\s*(.*)$/.exec(line));
  const pairs = lines.map((line): [string | undefined, string] => [
    names.find((name) => name.toLowerCase() === line?.[1]?.toLowerCase()),
    line?.[2] ?? '',
  ]);
  if (pairs.every((pair): pair is [string, string] => pair[0] !== undefined)) return new Map(pairs);
  const [only, ...others] = required.length > 0 ? required : names;
  if (only !== undefined && others.length === 0) return new Map([[only, text]]);
  return new Map([[shorten(text, LONGEST_WORDS), text]]);
}

/** The value as the field wants it; undefined when it is of another kind. */
function meantBy(given: unknown, one: Field): Value | undefined {
  if (one.type === 'array') {
    const words = (text: string) => text.split(',').filter((word) => word.trim() !== '');
    const items: readonly unknown[] = typeof given === 'string' ? words(given) : [given].flat();
    const chosen = items.map((item) => (isScalar(item) ? choiceOf(String(item), one) : undefined));
    return chosen.every((item) => item !== undefined) ? chosen : undefined;
  }
  if (!isScalar(given)) return undefined;
  const text = String(given);
  if (one.type === 'string') return choicesOf(one) ? choiceOf(text, one) : text;
  if (one.type === 'boolean')
    return /^(yes|y|true)$/i.test(text) || (/^(no|n|false)$/i.test(text) ? false : undefined);
  const number = typeof given === 'boolean' || text.trim() === '' ? NaN : Number(given);
  return Number.isFinite(number) && isOfType(number, one.type) ? number : undefined;
}

function isScalar(given: unknown): given is string | number | boolean {
  return ['string', 'number', 'boolean'].includes(typeof given);
}

function choiceOf(given: string, one: Field): string | undefined {
  const said = given.trim().toLowerCase();
  const choices = choicesOf(one) ?? [];
  const found =
    choices.find(({ value }) => value === given.trim()) ??
    choices.find(({ value, title }) => [value, title].some((name) => name?.toLowerCase() === said));
  return found?.value;
}
