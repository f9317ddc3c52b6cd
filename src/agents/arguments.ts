import { z } from 'zod';
import { LangoError, errorText } from '../core/errors.js';
import type { JsonObject } from '../core/json.js';
import type { Tool } from '../core/tool.js';

/** One schema for both sides of a call: `parameters` describes the arguments to the model, `parse` checks them. */
export interface ArgumentReader<T> {
  /** JSON Schema for the model, without the keywords that only refuse values. */
  readonly parameters: JsonObject;
  /** Returns the checked input, or what is wrong. Refuses unknown keys. */
  parse(value: JsonObject): { readonly input: T } | { readonly problem: string };
}

export function argumentReader<Schema extends z.ZodObject>(schema: Schema): ArgumentReader<z.infer<Schema>> {
  // Both are made at first use, so that a start of the server does not make them for its hundred tools.
  let strictSchema: Schema | undefined;
  let parameters: JsonObject | undefined;
  // A schema with a rule for further keys keeps that rule.
  const strict = (): Schema => (strictSchema ??= schema.def.catchall ? schema : (schema.strict() as Schema));
  return {
    get parameters() {
      return (parameters ??= jsonSchemaOf(strict()));
    },
    parse(value) {
      const parsed = strict().safeParse(value);
      if (parsed.success) return { input: parsed.data };
      return { problem: problemText(parsed.error, Object.keys(schema.shape)) };
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
    throw new LangoError('invalid-config', `The arguments of the tool ${name} have no JSON Schema.`, {
      hint: `Use types that JSON has: ${errorText(error)}.`,
      cause: error,
    });
  }
}

/** Keywords that only refuse values. They cost tokens in every call of the model, and `parse` says what they would. */
export const VALIDATION_KEYWORDS = [
  ...['additionalProperties', 'pattern', 'format', 'minLength', 'maxLength', 'minItems', 'maxItems'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'propertyNames', '$schema'],
] as const;

function jsonSchemaOf(schema: z.ZodObject): JsonObject {
  const parameters = z.toJSONSchema(schema, {
    io: 'input',
    override: ({ jsonSchema }) => {
      for (const keyword of VALIDATION_KEYWORDS) {
        // For a map, `additionalProperties` describes its values.
        if (keyword !== 'additionalProperties' || jsonSchema.additionalProperties === false)
          delete jsonSchema[keyword];
      }
    },
  });
  delete parameters.$schema;
  return parameters as JsonObject;
}

/** Names each wrong argument, what is wrong with it, and which arguments there are. */
function problemText(error: z.ZodError, known: readonly string[]): string {
  const problems = error.issues.map((issue) =>
    issue.code === 'unrecognized_keys'
      ? `unknown argument ${issue.keys.join(', ')} (there are: ${known.join(', ') || 'none'})`
      : `argument ${issue.path.join('.') || '(all)'}: ${issue.message}`,
  );
  return problems.join('; ');
}
