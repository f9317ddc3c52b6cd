import { z } from 'zod';
import { LangoError } from '../../core/errors.js';
import { isJsonObject } from '../../core/json.js';

/** The most violations that an error lists. */
const MAX_VIOLATIONS = 20;

/** An object in ProtoJSON: null members are absent (except `nullable`), snake_case names work, unknown ones are ignored. */
export function protoObject<Shape extends z.ZodRawShape>(shape: Shape, nullable?: string) {
  const camelCased = Object.keys(shape).filter((name) => /[A-Z]/.test(name));
  const aliases = new Map(
    camelCased.map((name) => [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), name]),
  );
  return z.preprocess(
    (value) => (isJsonObject(value) ? canonicalMembers(value, aliases, nullable) : value),
    z.object(shape),
  );
}

const DECIMAL = z
  .string()
  .regex(/^-?\d{1,10}$/)
  .transform(Number);

/** An int32, which ProtoJSON accepts as a decimal string too. */
export function whole(min: number, max = 2 ** 31 - 1) {
  const text = `must be a whole number from ${min} to ${max}`;
  return z.union([z.number(), DECIMAL], text).pipe(z.number(text).int(text).min(min, text).max(max, text));
}

/** A boolean, or its text, as in a query string. */
export function bool() {
  return z.union(
    [z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')],
    'must be true or false',
  );
}

/** An enum value by name or by number; resolves to the number. */
export function protoEnum(numbers: Readonly<Record<string, number>>) {
  const known = new Map<unknown, number>(
    Object.entries(numbers).flatMap(([name, n]) => [name, n, String(n)].map((form) => [form, n] as const)),
  );
  return z.unknown().transform((value, context) => {
    const number = known.get(value);
    if (number !== undefined) return number;
    context.addIssue({ code: 'custom', message: `must be one of ${Object.keys(numbers).join(', ')}` });
    return z.NEVER;
  });
}

export function text(maxLength: number) {
  return z.string('must be a string').max(maxLength, `must be at most ${maxLength} characters long`);
}

export interface FieldViolation {
  readonly field: string;
  readonly description: string;
}

/** Checks a value by a schema. Throws `invalid-input` that names each wrong field, in the words of `toWords`. */
export function parseAs<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  toWords: (violation: FieldViolation) => FieldViolation = (violation) => violation,
): z.output<Schema> {
  const outcome = schema.safeParse(value);
  if (outcome.success) return outcome.data;
  const violations = outcome.error.issues
    .slice(0, MAX_VIOLATIONS)
    .map((issue) => toWords({ field: issue.path.join('.'), description: issue.message }));
  const [first] = violations;
  const text = first?.field
    ? `${first.field} ${first.description}.`
    : 'The parameters must be a JSON object.';
  throw new LangoError('invalid-input', text, { violations });
}

function canonicalMembers(value: object, aliases: ReadonlyMap<string, string>, nullable?: string): object {
  const given = value as Readonly<Record<string, unknown>>;
  if (!Object.keys(given).some((name) => given[name] === null || aliases.has(name))) return value;
  const members: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(given))
    if (member !== null || name === nullable) members[aliases.get(name) ?? name] = member;
  return members;
}
