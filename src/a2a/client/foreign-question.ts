import type { Json, JsonObject } from '../../core/json.js';
import { hashJson, isJsonObject } from '../../core/json.js';
import type { Message, Part } from '../../core/message.js';
import { textOf } from '../../core/message.js';
import { answersIn, questionsIn } from '../../core/questions.js';
import type { Question } from '../../core/task.js';

const MAX_QUESTIONS = 16;

/** The facts about a task that waits. */
interface WaitingTask {
  readonly taskId: string | undefined;
  readonly author: string;
  /** The parts of the message with which it waits. */
  readonly parts: readonly Part[];
  /** The texts that the agent sent before that message. */
  readonly said: string;
  /** The calls that wait for approval, as far as earlier messages named them. */
  readonly approvals: ForeignApprovals;
}

/** Returns the questions of a waiting task. A message without typed questions becomes one question, answered by text. */
export function questionsOf({ taskId, author, parts, said, approvals }: WaitingTask): readonly Question[] {
  const asked = textWithData(parts) || said.trim() || `${author} needs more input.`;
  approvals.read(parts);
  const open = approvals.questions({ taskId, author, said: asked });
  if (open.length > 0) return open.slice(0, MAX_QUESTIONS);
  const schema = parts.map(answerSchemaIn).find((one) => one !== undefined);
  const text = schema ? `${asked}\n${membersOf(schema)}` : asked;
  const hash = hashJson([taskId, text]);
  return [{ hash, kind: 'input', text, author, ...(schema ? { answerSchema: schema } : {}) }];
}

/** Returns the questions of a waiting task from its snapshot. `parts`: those of the message with which it waits. */
export function questionsInSnapshot(
  { id, history }: { readonly id: string; readonly history: readonly Message[] },
  parts: readonly Part[],
): readonly Question[] {
  const typed = typedQuestions(parts);
  if (typed.length > 0) return typed;
  const approvals = new ForeignApprovals();
  let said: string[] = [];
  for (const message of history) {
    if (message.role === 'user') {
      approvals.answer(message.parts);
      said = [];
    } else {
      approvals.read(message.parts);
      said.push(textWithData(message.parts));
    }
  }
  return questionsOf({ taskId: id, author: 'agent', parts, said: said.join('\n'), approvals });
}

/** Returns the typed questions of an agent with our extension, without other answer forms, which are for agents below it. */
export function typedQuestions(parts: readonly Part[]): readonly Question[] {
  const typed = questionsIn(parts).slice(0, MAX_QUESTIONS);
  return typed.map(({ answerSchema: _, replies: __, ...question }) => question);
}

/** The text of a message with its data as JSON, so that a person sees all that a peer asks. */
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
function membersOf({ properties }: JsonObject): string {
  const members = Object.entries(isJsonObject(properties) ? properties : {});
  const named = members.map(
    ([name, schema]) => `${name} (${isJsonObject(schema) ? JSON.stringify(schema['type']) : 'any'})`,
  );
  return named.length === 0 ? '' : `The answer needs: ${named.join(', ')}.`;
}

/** The schema for the reply, which a question of Mastra holds. */
function answerSchemaIn(part: Part): JsonObject | undefined {
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

  /** Forgets the calls that an answer decides: those that it names, else all. */
  answer(parts: readonly Part[]): void {
    const ids = parts.flatMap((part) =>
      part.kind === 'data' && isJsonObject(part.data) ? part.data['callId'] : [],
    );
    const named = ids.filter((id) => typeof id === 'string');
    if (named.length === 0) this.#open.clear();
    for (const id of named) this.#open.delete(id);
  }

  /** The approvals as questions. A single question gets `said`, all that the agent said, as its text. */
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

/** A tool call of Mastra that needs approval; undefined for a tool that asks for input, which has an inner payload. */
function callOfMastra({ suspendPayload: call }: JsonObject): FoundCall | undefined {
  if (!isJsonObject(call) || typeof call['toolCallId'] !== 'string') return undefined;
  const { toolCallId, toolName, args, suspendPayload } = call;
  if (suspendPayload !== undefined) return undefined;
  const replies = { approve: { approved: true }, deny: { approved: false } };
  return { id: toolCallId, isOpen: true, ...named(toolName, args), replies };
}

/** A question of Mastra whose answer is one yes or no. */
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

/**
 * Converts answers to the form that their question names. Leaves an answer unchanged when its question names none.
 */
export function inFormOf(questions: readonly Question[], parts: readonly Part[]): readonly Part[] {
  return parts.map((part) => {
    const [answer] = answersIn([part]);
    const asked = answer
      ? questions.find(({ hash }) => hash === answer['hash'])
      : questions.find(({ answerSchema }) => answerSchema);
    if (asked?.replies && answer)
      return { kind: 'data', data: asked.replies[answer['decision'] === 'approve' ? 'approve' : 'deny'] };
    const text = answer ? answer['text'] : textOf([part]);
    const isReply = asked?.answerSchema && typeof text === 'string' && text !== '';
    return (isReply && replyBySchema(asked.answerSchema, text)) || part;
  });
}

/**
 * Converts a person's text to the data that an agent's schema asks for: an object written as JSON, or the one member that
 * the schema requires. Returns undefined when the text does not fit; the agent then gets the text. A single boolean is an
 * approval, which text alone does not decide.
 */
function replyBySchema(schema: JsonObject, text: string): Part | undefined {
  const given = objectIn(text);
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
  const required: readonly unknown[] = Array.isArray(schema['required'])
    ? schema['required']
    : Object.keys(properties);
  const [name] = required;
  if (given) return { kind: 'data', data: given };
  if (required.length !== 1 || typeof name !== 'string') return undefined;
  const value = valueOf(properties[name], text.trim());
  return value === undefined ? undefined : { kind: 'data', data: { [name]: value } };
}

function objectIn(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function valueOf(schema: Json | undefined, text: string): Json | undefined {
  const type = isJsonObject(schema) ? schema['type'] : undefined;
  if (type === 'number' || type === 'integer')
    return text !== '' && !Number.isNaN(Number(text)) ? Number(text) : undefined;
  return type === 'string' ? text : undefined;
}
