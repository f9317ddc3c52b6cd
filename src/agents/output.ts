import { z } from 'zod';
import { LangoError, errorText } from '../core/errors.js';
import { assertJsonValue, type Json, type JsonObject } from '../core/json.js';
import { VALIDATION_KEYWORDS } from '../core/model-schema.js';
import type { ModelMessage } from '../core/model.js';
import type { Run, RunEnd } from '../core/run.js';

/** Reads the outputs of an agent that gives data. */
export interface OutputReader {
  /** JSON Schema for a vendor: without keywords that only refuse values, and with no further keys in its objects. */
  readonly schema: JsonObject;
  parse(text: string): { readonly value: Json } | { readonly problem: string };
}

/** Makes a reader of a schema of zod, or of a JSON Schema. Throws `invalid-config` for one that describes no object. */
export function outputReader(agent: string, given: z.ZodObject | JsonObject): OutputReader {
  const { reader, schema } = readSchema(agent, given);
  return {
    schema,
    parse(text) {
      let value: unknown;
      try {
        // Some models put their JSON into a Markdown block.
        value = JSON.parse(/^\s*```(?:json)?\n([\s\S]*?)\n```\s*$/.exec(text)?.[1] ?? text);
        assertJsonValue(value);
      } catch {
        return { problem: 'it is not JSON, or has more than 64 levels or 10000 keys' };
      }
      const parsed = reader.safeParse(value);
      if (parsed.success) return { value: parsed.data as Json };
      const problems = parsed.error.issues.map(
        ({ path, message }) => `${path.join('.') || '(all)'}: ${message}`,
      );
      return { problem: problems.join('; ') };
    },
  };
}

function readSchema(agent: string, given: z.ZodObject | JsonObject) {
  try {
    const reader = given instanceof z.ZodObject ? given : z.fromJSONSchema(given);
    const { $schema: _, ...schema } = z.toJSONSchema(reader, { io: 'input', override: forVendors });
    if (schema.type === 'object') return { reader, schema: schema as JsonObject };
  } catch (error) {
    throw unusable(agent, errorText(error), error);
  }
  throw unusable(agent, 'it does not describe an object');
}

function unusable(agent: string, why: string, cause?: unknown): LangoError {
  const hint = 'Write a schema of an object, of types that JSON has.';
  const text = `The schema of the output of ${agent} cannot be used: ${why}.`;
  return new LangoError('invalid-config', text, { hint, ...(cause === undefined ? {} : { cause }) });
}

/** Vendors refuse many keywords, and objects that may have further keys. `parse` checks the keywords. */
function forVendors({ jsonSchema }: { readonly jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  for (const keyword of VALIDATION_KEYWORDS) delete jsonSchema[keyword];
  if (jsonSchema.type === 'object' && jsonSchema.properties) jsonSchema.additionalProperties ??= false;
}

/** The reason of a run whose answer did not fit the schema. */
export const WRONG_OUTPUT = 'model-output';

/** The artifact with the data of the answer, beside the one with its text. */
export const OUTPUT_ARTIFACT_ID = 'output';

/** Returns the end of a run with this answer. An answer that fits becomes an artifact too, for programs. */
export function concludeWithData(run: Run, text: string, output: OutputReader): RunEnd {
  const read = output.parse(text);
  if ('problem' in read) {
    const why = `The answer of the model does not fit the schema of ${run.task.agent}: ${read.problem}`;
    return { state: 'failed', reason: WRONG_OUTPUT, text: why };
  }
  const parts = [{ kind: 'data', data: read.value }] as const;
  const artifact = { id: OUTPUT_ARTIFACT_ID, name: OUTPUT_ARTIFACT_ID, parts };
  run.emit({ type: 'artifact', artifact, append: false, lastChunk: true });
  return { state: 'completed' };
}

/** The message to a model whose answer did not fit. The loop sends it once. */
export function repairRequest({ text = '' }: RunEnd): ModelMessage {
  const request = `${text}. Write the whole answer again, as one JSON object and nothing else.`;
  return { role: 'user', parts: [{ kind: 'text', text: request }] };
}
