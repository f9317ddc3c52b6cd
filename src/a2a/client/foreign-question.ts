import { hashJson } from '../../core/canonical-json.js';
import { isJsonObject, mapMembers, objectIn, parseObject } from '../../core/json.js';
import type { Json, JsonObject } from '../../core/json.js';
import { textOf, type Artifact, type Message, type Part } from '../../core/message.js';
import { repliesIn, questionsIn } from '../../core/questions.js';
import type { Question } from '../../core/task.js';

const MAX_QUESTIONS = 16;

interface WaitingTask {
  readonly taskId: string | undefined;
  readonly author: string;
  readonly parts: readonly Part[];
  /** The texts that the agent sent before that message. */
  readonly said: string;
  /** The calls that wait for approval, as far as earlier messages named them. */
  readonly approvals: ForeignApprovals;
}

/** Returns the questions of a waiting task. A message without typed questions becomes one question with a reply in text. */
export function questionsOf({ taskId, author, parts, said, approvals }: WaitingTask): readonly Question[] {
  const asked = textWithData(parts) || said.trim() || `${author} needs more input.`;
  approvals.read(parts);
  const open = approvals.questions({ taskId, author, said: asked });
  if (open.length > 0) return open.slice(0, MAX_QUESTIONS);
  const schema = parts.map((part) => replySchemaIn(part) ?? frameIn(part)).find((one) => one !== undefined);
  const text = schema ? `${asked}\n${membersOf(schema)}`.trimEnd() : asked;
  const hash = hashJson([taskId, text]);
  return [{ hash, kind: 'input', text, author, ...(schema ? { answerSchema: schema } : {}) }];
}

/** Returns the questions of a waiting task from its snapshot. `parts`: those of the message with which it waits. */
export function questionsInSnapshot(
  { id, history, artifacts }: { id: string; history: readonly Message[]; artifacts: readonly Artifact[] },
  parts: readonly Part[],
): readonly Question[] {
  const typed = typedQuestions(parts);
  if (typed.length > 0) return typed;
  const approvals = new ForeignApprovals();
  let said: string[] = [];
  for (const message of history) {
    if (message.role === 'user') {
      approvals.readReply(message.parts);
      said = [];
    } else {
      approvals.read(message.parts);
      said.push(textWithData(message.parts));
    }
  }
  const text = said.join('\n') || dataIn(artifacts.at(-1)?.parts ?? []);
  return questionsOf({ taskId: id, author: 'agent', parts, said: text, approvals });
}

/** Returns the typed questions of an agent with our extension, without other forms of replies, which are for agents below it. */
export function typedQuestions(parts: readonly Part[]): readonly Question[] {
  const typed = questionsIn(parts).slice(0, MAX_QUESTIONS);
  return typed.map(({ answerSchema: _, replies: __, ...question }) => question);
}

/** The text of a message with its data as JSON, so that a person sees all that a peer asks. */
export function textWithData(parts: readonly Part[]): string {
  const shown = parts.map((part) =>
    part.kind === 'data'
      ? JSON.stringify(part.data, (name, value: unknown) => (name === 'resumeSchema' ? undefined : value), 2)
      : textOf([part]),
  );
  return shown.filter((text) => text !== '').join('\n');
}

export function dataIn(parts: readonly Part[]): string {
  return textWithData(parts.filter(({ kind }) => kind === 'data'));
}

/** A sentence that names the members of a schema. */
function membersOf(schema: JsonObject): string {
  if (isFrame(schema)) return '';
  const named = Object.entries(objectIn(schema['properties'])).map(
    ([name, member]) => `${name} (${isJsonObject(member) ? JSON.stringify(member['type']) : 'any'})`,
  );
  return named.length === 0 ? '' : `The reply needs: ${named.join(', ')}.`;
}

/** The schema for the reply, which a question of Mastra holds. */
function replySchemaIn(part: Part): JsonObject | undefined {
  const schema = dataOf(part)['resumeSchema'];
  if (typeof schema === 'string') return parseObject(schema);
  return isJsonObject(schema) ? schema : undefined;
}

/** The object of a data part; empty for other parts. */
function dataOf(part: Part): JsonObject {
  return part.kind === 'data' ? objectIn(part.data) : {};
}

/**
 * The form of the reply to a long-running call of ADK, or to an interrupt of Strands: a schema in which all members but one
 * are constant. These agents take no reply in another form.
 */
function frameIn(part: Part): JsonObject | undefined {
  const call = callOfAdk(part);
  if (call) return framed({ id: call.id, name: call.name, response: { result: undefined } });
  const { interrupts } = dataOf(part);
  const id = Array.isArray(interrupts) ? objectIn(interrupts[0] as Json)['interruptId'] : undefined;
  if (typeof id !== 'string') return undefined;
  return framed({ interruptResponse: { interruptId: id, response: undefined } });
}

interface Frame {
  readonly [name: string]: string | Frame | undefined;
}

/** The schema of an object with these members. The undefined one is the text of the reply. */
function framed(frame: Frame): JsonObject {
  const properties = mapMembers(frame, (value) => {
    if (value === undefined) return { type: 'string' };
    return typeof value === 'string' ? { const: value } : framed(value);
  });
  return { type: 'object', properties };
}

/** A call of ADK whose result comes from a person. */
function callOfAdk(part: Part) {
  const { id, name, args } = dataOf(part);
  const { adk_type: type, adk_is_long_running: isLongRunning } = part.metadata ?? {};
  if (type !== 'function_call' || isLongRunning !== true) return undefined;
  return typeof id === 'string' && typeof name === 'string' ? { id, name, args } : undefined;
}

function confirmationOfAdk(part: Part): FoundCall | undefined {
  const { id, name, args } = callOfAdk(part) ?? {};
  if (id === undefined || name !== 'adk_request_confirmation' || !isJsonObject(args)) return undefined;
  const call = objectIn(args['originalFunctionCall']);
  const reply = (confirmed: boolean): JsonObject => ({ id, name, response: { confirmed } });
  const replies = { approve: reply(true), deny: reply(false) };
  return { id, isOpen: true, ...named(call['name'], call['args']), replies };
}

const ADK_RESULT = 'function_response';

/** A part of a reply. ADK finds the result of a call by its metadata. */
function dataPart(data: JsonObject): Part {
  const isOfAdk = ['id', 'name', 'response'].every((name) => name in data);
  return { kind: 'data', data, ...(isOfAdk ? { metadata: { adk_type: ADK_RESULT } } : {}) };
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
      const data = dataOf(part);
      const found = callOfGemini(data) ?? callOfMastra(data) ?? confirmationOfAdk(part) ?? choiceIn(part);
      if (!found) continue;
      const { id, isOpen, ...about } = found;
      if (isOpen) this.#open.set(id, { part, about });
      else this.#open.delete(id);
    }
  }

  /** Forgets the calls that a reply decides: those that it names, else all. */
  readReply(parts: readonly Part[]): void {
    const ids = parts.map(
      (part) => dataOf(part)[part.metadata?.['adk_type'] === ADK_RESULT ? 'id' : 'callId'],
    );
    const named = ids.filter((id) => typeof id === 'string');
    if (named.length === 0) this.#open.clear();
    for (const id of named) this.#open.delete(id);
  }

  /** The approvals as questions. A single question gets `said`, all that the agent said, as its text. */
  questions(facts: Pick<WaitingTask, 'taskId' | 'author' | 'said'>): readonly Question[] {
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

/** A question of Mastra whose reply is one yes or no. */
function choiceIn(part: Part): FoundCall | undefined {
  const schema = replySchemaIn(part) ?? {};
  const name = onlyMemberOf(schema);
  if (name === undefined || objectIn(objectIn(schema['properties'])[name])['type'] !== 'boolean')
    return undefined;
  return { id: '', isOpen: true, replies: { approve: { [name]: true }, deny: { [name]: false } } };
}

function onlyMemberOf({ properties, required }: JsonObject): string | undefined {
  const members: readonly unknown[] = Array.isArray(required) ? required : Object.keys(objectIn(properties));
  const [name] = members;
  return members.length === 1 && typeof name === 'string' ? name : undefined;
}

function named(tool: unknown, args: unknown): Pick<Question, 'tool' | 'arguments'> {
  return {
    ...(typeof tool === 'string' ? { tool } : {}),
    ...(isJsonObject(args) ? { arguments: args } : {}),
  };
}

/** Converts replies to the form that their question names. Leaves a reply unchanged when its question names none. */
export function inFormOf(questions: readonly Question[], parts: readonly Part[]): readonly Part[] {
  return parts.map((part) => {
    const [reply] = repliesIn([part]);
    const asked = reply
      ? questions.find(({ hash }) => hash === reply['hash'])
      : questions.find(({ answerSchema }) => answerSchema);
    if (asked?.replies && reply)
      return dataPart(asked.replies[reply['decision'] === 'approve' ? 'approve' : 'deny']);
    const text = reply ? reply['text'] : textOf([part]);
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
  const filled = isFrame(schema) ? fill(schema, text) : parseObject(text);
  if (isJsonObject(filled)) return dataPart(filled);
  const name = onlyMemberOf(schema);
  if (name === undefined) return undefined;
  const value = valueOf(objectIn(schema['properties'])[name], text.trim());
  return value === undefined ? undefined : { kind: 'data', data: { [name]: value } };
}

const FRAME_DEPTH = 3;

/** Whether all members of a schema are constant but one, which is text. */
function isFrame(schema: JsonObject): boolean {
  const leaves = leavesOf(schema, 0);
  const [open, ...others] = leaves.filter((leaf) => leaf['const'] === undefined);
  return leaves.length > 1 && others.length === 0 && open?.['type'] === 'string';
}

function leavesOf(schema: JsonObject, depth: number): readonly JsonObject[] {
  const { properties } = schema;
  if (!isJsonObject(properties) || depth === FRAME_DEPTH) return [schema];
  return Object.values(properties).flatMap((member) => leavesOf(objectIn(member), depth + 1));
}

/** The value of a frame with the text in the place of its open member. */
function fill(frame: JsonObject, text: string): Json {
  const { const: constant, type, properties } = frame;
  if (constant !== undefined) return constant;
  if (type === 'string' || !isJsonObject(properties)) return text;
  return mapMembers(properties, (member) => (isJsonObject(member) ? fill(member, text) : text));
}

function valueOf(schema: Json | undefined, text: string): Json | undefined {
  const { type } = objectIn(schema);
  if (type === 'number' || type === 'integer')
    return text !== '' && !Number.isNaN(Number(text)) ? Number(text) : undefined;
  return type === 'string' ? text : undefined;
}
