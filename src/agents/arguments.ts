import { z } from 'zod';
import { LangoError, errorText } from '../core/errors.js';
import type { JsonObject } from '../core/json.js';
import type { Tool } from '../core/tool.js';

/** Checks the arguments of a call with `parse` and describes them to the model with `parameters`, from one schema. */
export interface ArgumentReader<T> {
  /** JSON Schema for a model, without what only `parse` needs. Unknown keys are refused. */
  readonly parameters: JsonObject;
  parse(value: JsonObject): { readonly input: T } | { readonly problem: string };
}

export function argumentReader<Schema extends z.ZodObject>(schema: Schema): ArgumentReader<z.infer<Schema>> {
  // Made at first use, because the start of a server needs neither for its hundred tools.
  let made: Schema | undefined;
  let shown: JsonObject | undefined;
  // A schema that says what further keys may be keeps that.
  const strict = (): Schema => (made ??= schema.def.catchall ? schema : (schema.strict() as Schema));
  return {
    get parameters() {
      return (shown ??= jsonSchemaOf(strict()));
    },
    parse(value) {
      const parsed = strict().safeParse(value);
      if (parsed.success) return { input: parsed.data };
      return { problem: problemText(parsed.error, Object.keys(schema.shape)) };
    },
  };
}

const TOOL_NAME = /^[a-z][a-z0-9_]{0,63}$/;

/** Throws `invalid-config` when no model could call the tool: for its name, or as its arguments cannot be described. */
export function assertDescribable({ name, schema }: Tool): void {
  if (!TOOL_NAME.test(name)) {
    const hint = 'Begin with a letter and use only lower-case letters, digits and underscores, 64 at most.';
    throw new LangoError('invalid-config', `A tool cannot be named "${name}".`, { hint });
  }
  try {
    jsonSchemaOf(schema);
  } catch (error) {
    throw new LangoError('invalid-config', `The arguments of the tool ${name} have no JSON Schema.`, {
      hint: `Take other types for them: ${errorText(error)}.`,
      cause: error,
    });
  }
}

/**
 * Keywords that only refuse values. They cost tokens in every call of the model; a wrong value is refused by `parse`, with
 * the reason.
 */
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
        if (keyword !== 'additionalProperties' || jsonSchema.additionalProperties === false) {
          delete jsonSchema[keyword];
        }
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
