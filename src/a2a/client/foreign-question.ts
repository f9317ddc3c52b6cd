import type { JsonObject } from '../../core/json.js';
import { isJsonObject } from '../../core/json.js';
import type { Part } from '../../core/message.js';
import { textOf } from '../../core/message.js';

/** The text of a message with its data as JSON: a person must see all of what a peer asks. */
export function textWithData(parts: readonly Part[]): string {
  const shown = parts.map((part) =>
    part.kind === 'data' ? JSON.stringify(part.data, withoutSchema, 2) : textOf([part]),
  );
  return shown.filter((text) => text !== '').join('\n');
}

function withoutSchema(name: string, value: unknown): unknown {
  return name === 'resumeSchema' ? undefined : value;
}

/** A sentence that names the members of a schema. */
export function wantedBy({ properties }: JsonObject): string {
  const members = Object.entries(isJsonObject(properties) ? properties : {});
  const named = members.map(
    ([name, schema]) => `${name} (${isJsonObject(schema) ? JSON.stringify(schema['type']) : 'any'})`,
  );
  return named.length === 0 ? '' : `It wants as an answer: ${named.join(', ')}.`;
}

/** The schema of the reply that a question of Mastra names. */
export function answerSchemaIn(part: Part): JsonObject | undefined {
  const schema = part.kind === 'data' && isJsonObject(part.data) ? part.data['resumeSchema'] : undefined;
  const parsed: unknown = typeof schema === 'string' ? tryParse(schema) : schema;
  return isJsonObject(parsed) ? parsed : undefined;
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
