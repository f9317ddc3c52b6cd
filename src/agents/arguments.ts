import { z } from 'zod';
import type { JsonObject } from '../core/json.js';

/** The arguments of a call: read by `parse`, shown to the model as `parameters`. One schema makes both. */
export interface ArgumentReader<T> {
  /** JSON Schema; unknown keys are refused. */
  readonly parameters: JsonObject;
  parse(value: JsonObject): { readonly input: T } | { readonly problem: string };
}

export function argumentReader<Schema extends z.ZodObject>(schema: Schema): ArgumentReader<z.infer<Schema>> {
  const strict = schema.strict();
  const parameters: Record<string, unknown> = z.toJSONSchema(strict, { io: 'input' });
  delete parameters['$schema'];
  return {
    parameters: parameters as JsonObject,
    parse(value) {
      const parsed = strict.safeParse(value);
      if (parsed.success) return { input: parsed.data as z.infer<Schema> };
      return { problem: problemText(parsed.error, Object.keys(schema.shape)) };
    },
  };
}

/** Names each argument that is wrong, what is wrong with it, and what there is. */
function problemText(error: z.ZodError, known: readonly string[]): string {
  const problems = error.issues.map((issue) =>
    issue.code === 'unrecognized_keys'
      ? `unknown argument ${issue.keys.join(', ')} (there are: ${known.join(', ') || 'none'})`
      : `argument ${issue.path.join('.') || '(all)'}: ${issue.message}`,
  );
  return problems.join('; ');
}
