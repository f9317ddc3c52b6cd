import { z } from 'zod';
import { LangoError, errorText } from '../core/errors.js';
import type { JsonObject } from '../core/json.js';
import { readSchema } from '../core/json-schema.js';
import { checkedSchema, modelSchema } from '../core/model-schema.js';
import { schemaProblems, withFewBranches } from '../core/schema-check.js';
import type { Tool } from '../core/tool.js';
import { coerceArguments } from './coercion.js';

/** One schema for both sides of a call: `parameters` describes the arguments to the model, `parse` checks them. */
export interface ArgumentReader<T> {
  /** JSON Schema for the model, without the keywords that only refuse values. */
  readonly parameters: JsonObject;
  /**
   * Returns the checked input and the arguments that it was read from, or what is wrong. Refuses unknown keys. Arguments in
   * another form are read as the schema wants them, where there is exactly one way to.
   */
  parse(value: JsonObject): { readonly input: T; readonly given: JsonObject } | { readonly problem: string };
}

export function argumentReader<Schema extends z.ZodObject>(schema: Schema): ArgumentReader<z.infer<Schema>> {
  // They are made at first use, so that a start of the server does not make them for its hundred tools.
  let strictSchema: Schema | undefined;
  let parameters: JsonObject | undefined;
  let full: JsonObject | undefined;
  // A schema with a rule for further keys keeps that rule.
  const strict = (): Schema => (strictSchema ??= schema.def.catchall ? schema : (schema.strict() as Schema));
  const read = (): JsonObject => (full ??= readSchema(jsonSchemaOf(strict())));
  return {
    get parameters() {
      return (parameters ??= modelSchema(read()));
    },
    parse(value) {
      const parsed = strict().safeParse(value);
      // Of further keys, where they are taken, one may be a key that was renamed.
      const isClosed = strict().def.catchall instanceof z.ZodNever;
      if (parsed.success && isClosed) return { input: parsed.data, given: value };
      const given = coerceArguments(read(), value);
      const coerced = strict().safeParse(given);
      if (coerced.success) return { input: coerced.data, given };
      const known = Object.keys(schema.shape).join(', ') || 'none';
      const problems = coerced.error.issues.map((issue) =>
        issue.code === 'unrecognized_keys'
          ? `unknown argument ${issue.keys.join(', ')} (there are: ${known})`
          : `argument ${issue.path.join('.') || '(all)'}: ${issue.message}`,
      );
      return { problem: problems.join('; ') };
    },
  };
}

/** A reader for arguments that a JSON Schema of any draft describes. */
export function schemaReader(schema: JsonObject): ArgumentReader<JsonObject> {
  let made: { readonly parameters: JsonObject; readonly checked: JsonObject } | undefined;
  const read = () => (made ??= bothOf(readSchema(schema)));
  const bothOf = (plain: JsonObject) => ({ parameters: modelSchema(plain), checked: checkedSchema(plain) });
  return {
    get parameters() {
      return read().parameters;
    },
    parse(value) {
      const { checked } = read();
      const { given, problems } = withFewBranches(() => {
        const given = coerceArguments(checked, value);
        return { given, problems: schemaProblems(checked, given) };
      });
      if (problems.length === 0) return { input: given, given };
      const known = Object.keys((read().parameters['properties'] ?? {}) as JsonObject);
      const texts = problems.map(({ path, text }) => {
        if (path.length > 0) return `argument ${path.join('.')}: ${text}`;
        return `${text} (there are: ${known.join(', ') || 'none'})`;
      });
      return { problem: texts.join('; ') };
    },
  };
}

const TOOL_NAME = /^[a-z][a-z0-9_]{0,63}$/;

/** Throws `invalid-config` when no model could call the tool, because of its name or of arguments without a JSON Schema. */
export function assertDescribable({ name, schema }: Tool): void {
  if (!TOOL_NAME.test(name)) {
    const hint = 'Begin with a letter and use only lower-case letters, digits and underscores, 64 at most.';
    throw new LangoError('invalid-config', `A tool cannot be named "${name}".`, { hint });
  }
  try {
    jsonSchemaOf(schema);
  } catch (error) {
    const text = `The arguments of the tool ${name} have no JSON Schema.`;
    const hint = `Use types that JSON has: ${errorText(error)}.`;
    throw new LangoError('invalid-config', text, { hint, cause: error });
  }
}

const jsonSchemaOf = (schema: z.ZodObject) => z.toJSONSchema(schema, { io: 'input' });
