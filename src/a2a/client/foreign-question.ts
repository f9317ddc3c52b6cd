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
  /** The texts that the agent sent before. */
  readonly said: string;
  /** The calls that wait for approval, as far as earlier messages named them. */
  readonly approvals: ForeignApprovals;
}

/** The questions of a waiting task. A message without any is itself a question that wants text. */
export function questionsOf({ taskId, author, parts, said, approvals }: WaitingTask): readonly Question[] {
  const asked = textWithData(parts) || said.trim() || `${author} needs more input.`;
  approvals.read(parts);
  const open = approvals.questions({ taskId, author, said: asked });
  if (open.length > 0) return open.slice(0, MAX_QUESTIONS);
  const schema = parts.map(answerSchemaIn).find((one) => one !== undefined);
  const text = schema ? `${asked}\n${wantedBy(schema)}` : asked;
  const hash = hashJson([taskId, text]);
  return [{ hash, kind: 'input', text, author, ...(schema ? { answerSchema: schema } : {}) }];
}

/** The questions of a task that waits with a message of these parts, as a snapshot shows it. */
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

/** The questions that an agent with our extension asks. It takes our answers: other forms are those of an agent below it. */
export function typedQuestions(parts: readonly Part[]): readonly Question[] {
  const typed = questionsIn(parts).slice(0, MAX_QUESTIONS);
  return typed.map(({ answerSchema: _, replies: __, ...question }) => question);
}

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
function wantedBy({ properties }: JsonObject): string {
  const members = Object.entries(isJsonObject(properties) ? properties : {});
  const named = members.map(
    ([name, schema]) => `${name} (${isJsonObject(schema) ? JSON.stringify(schema['type']) : 'any'})`,
  );
  return named.length === 0 ? '' : `It wants as an answer: ${named.join(', ')}.`;
}

/** The schema of the reply that a question of Mastra names. */
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

/**
 * Writes answers as the agent that asked takes them: in its own form when the question names one, else as they are.
 */
export function inFormOf(questions: readonly Question[], parts: readonly Part[]): readonly Part[] {
  return parts.map((part) => {
    const [answer] = answersIn([part]);
    const asked = answer
      ? questions.find(({ hash }) => hash === answer['hash'])
      : questions.find(({ answerSchema }) => answerSchema);
    if (asked?.replies && answer)
      return { kind: 'data', data: asked.replies[answer['decision'] === 'approve' ? 'approve' : 'deny'] };
    const words = answer ? answer['text'] : textOf([part]);
    const isReply = asked?.answerSchema && typeof words === 'string' && words !== '';
    return (isReply && replyBySchema(asked.answerSchema, words)) || part;
  });
}

/**
 * Writes a person's words as the data that an agent's schema asks for: an object given as JSON, or the one member that
 * the schema requires. Returns undefined when the words do not fit: the agent then gets them as text. A schema that wants
 * one yes or no is that of an approval, which words alone do not decide.
 */
function replyBySchema(schema: JsonObject, words: string): Part | undefined {
  const given = objectIn(words);
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
  const required: readonly unknown[] = Array.isArray(schema['required'])
    ? schema['required']
    : Object.keys(properties);
  const [name] = required;
  if (given) return { kind: 'data', data: given };
  if (required.length !== 1 || typeof name !== 'string') return undefined;
  const value = valueOf(properties[name], words.trim());
  return value === undefined ? undefined : { kind: 'data', data: { [name]: value } };
}

function objectIn(words: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(words);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function valueOf(schema: Json | undefined, words: string): Json | undefined {
  const type = isJsonObject(schema) ? schema['type'] : undefined;
  if (type === 'number' || type === 'integer')
    return words !== '' && !Number.isNaN(Number(words)) ? Number(words) : undefined;
  return type === 'string' ? words : undefined;
}
