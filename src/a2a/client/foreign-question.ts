import type { JsonObject } from '../../core/json.js';
import { hashJson, isJsonObject } from '../../core/json.js';
import type { Part } from '../../core/message.js';
import { textOf } from '../../core/message.js';
import type { Question } from '../../core/task.js';

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

/** A call that an agent of another framework wants approved. */
interface ForeignApproval {
  readonly part: Part;
  readonly about: Pick<Question, 'tool' | 'arguments' | 'replies'>;
}

/** The calls that wait for approval, read from the messages of one agent in their order. */
export class ForeignApprovals {
  readonly #open = new Map<string, ForeignApproval>();

  read(parts: readonly Part[]): void {
    for (const part of parts) {
      const data = part.kind === 'data' && isJsonObject(part.data) ? part.data : {};
      const found = callOfGemini(data) ?? callOfMastra(data) ?? choiceIn(part);
      if (!found) continue;
      const { id, isOpen, ...about } = found;
      if (isOpen) this.#open.set(id, { part, about });
      else this.#open.delete(id);
    }
  }

  /** The approvals as questions. `said` is all that the agent said, the text of a question that is alone. */
  questions(facts: {
    readonly taskId: string | undefined;
    author: string;
    said: string;
  }): readonly Question[] {
    return [...this.#open.values()].map(({ part, about }) => ({
      hash: hashJson([facts.taskId, part.kind === 'data' ? part.data : '', about.replies]),
      kind: 'approval',
      text: this.#open.size === 1 ? facts.said : textWithData([part]),
      author: facts.author,
      ...about,
    }));
  }
}

type FoundCall = ForeignApproval['about'] & { readonly id: string; readonly isOpen: boolean };

/** A tool call of Gemini CLI. Messages name it again whenever its status changes. */
function callOfGemini({ request, status }: JsonObject): FoundCall | undefined {
  if (!isJsonObject(request) || typeof request['callId'] !== 'string') return undefined;
  const { callId, name, args } = request;
  const replies = { approve: { callId, outcome: 'proceed_once' }, deny: { callId, outcome: 'cancel' } };
  return { id: callId, isOpen: status === 'awaiting_approval', ...named(name, args), replies };
}

/** A tool call of Mastra that needs approval. A tool that asks for input has a payload of its own inside. */
function callOfMastra({ suspendPayload: call }: JsonObject): FoundCall | undefined {
  if (!isJsonObject(call) || typeof call['toolCallId'] !== 'string') return undefined;
  const { toolCallId, toolName, args, suspendPayload } = call;
  if (suspendPayload !== undefined) return undefined;
  const replies = { approve: { approved: true }, deny: { approved: false } };
  return { id: toolCallId, isOpen: true, ...named(toolName, args), replies };
}

/** A question whose answer is one yes or no. */
function choiceIn(part: Part): FoundCall | undefined {
  const { properties, required } = answerSchemaIn(part) ?? {};
  if (!isJsonObject(properties)) return undefined;
  const members: readonly unknown[] = Array.isArray(required) ? required : Object.keys(properties);
  const [name, ...others] = members;
  if (typeof name !== 'string' || others.length > 0) return undefined;
  const member = properties[name];
  if (!isJsonObject(member) || member['type'] !== 'boolean') return undefined;
  return { id: '', isOpen: true, replies: { approve: { [name]: true }, deny: { [name]: false } } };
}

function named(tool: unknown, args: unknown): Pick<Question, 'tool' | 'arguments'> {
  return {
    ...(typeof tool === 'string' ? { tool } : {}),
    ...(isJsonObject(args) ? { arguments: args } : {}),
  };
}
