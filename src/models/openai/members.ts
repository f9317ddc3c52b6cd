import { isJsonObject, listIn, objectIn, textIn, type Json, type JsonObject } from '../../core/json.js';
import type { AnswerBlock } from '../../core/model.js';
import { opaque, type OutputBounds } from '../exchange.js';

/*
 * Vendors add members of their own to the messages and calls of Chat Completions, most of them about the model's reasoning:
 * `reasoning_content` (DeepSeek, Kimi, Qwen, GLM), `reasoning` (vLLM, Groq), `reasoning_details` (OpenRouter, MiniMax),
 * `extra_content` (Gemini), `thinking_blocks` (LiteLLM), and parts of type `thinking` (Mistral). Most of these vendors refuse
 * or weaken a later request without them, and other vendors refuse them. So they are kept unread and go back unchanged.
 */

/** The type of the opaque block that holds the further members of its message, or of the call after it. */
type MembersType = 'chat-message' | 'chat-call';

/** Members that are read, or that no vendor takes back. */
const READ_OF_MESSAGE =
  /^(role|content|tool_calls|function_call|refusal|audio|images|annotations|citations|name|index|logprobs|token_ids|stop_reason|finish_reason|matched_stop)$/;
const READ_OF_CALL = /^(index|id|type|function)$/;
const READ_OF_FUNCTION = /^(name|arguments)$/;

/** Collects the further members of one message from its deltas, or of one call from its fragments. */
export class Members {
  readonly #type: MembersType;
  #found: JsonObject = {};

  constructor(type: MembersType) {
    this.#type = type;
  }

  add(piece: JsonObject, bounds: OutputBounds): void {
    const further = this.#type === 'chat-message' ? furtherOfMessage(piece) : furtherOfCall(piece);
    if (isEmpty(further)) return;
    bounds.chunk(JSON.stringify(further));
    this.#found = joinObjects(this.#found, further);
  }

  blocks(): readonly AnswerBlock[] {
    return isEmpty(this.#found) ? [] : [opaque({ type: this.#type, members: this.#found })];
  }
}

function furtherOfMessage(delta: JsonObject): JsonObject {
  const parts = listIn(delta.content)
    .map(objectIn)
    .filter(({ type }) => type !== 'text' && type !== undefined);
  return { ...without(READ_OF_MESSAGE, delta), ...(parts.length > 0 && { parts }) };
}

function furtherOfCall(fragment: JsonObject): JsonObject {
  const named = without(READ_OF_FUNCTION, objectIn(fragment.function));
  return { ...without(READ_OF_CALL, fragment), ...(!isEmpty(named) && { function: named }) };
}

function without(read: RegExp, given: JsonObject): JsonObject {
  const isFurther = ([name, value]: [string, Json | undefined]): boolean =>
    !read.test(name) && value !== null && !(Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(given).filter(isFurther));
}

const isEmpty = (members: JsonObject): boolean => Object.keys(members).length === 0;

/** The members that an opaque block adds to its message, or to the call after it; none of another block. */
export function membersOf(block: AnswerBlock | undefined, type: MembersType): JsonObject {
  return block?.type === 'opaque' && block.block.type === type ? objectIn(block.block.members) : {};
}

/** Joins the members of messages that are sent as one. */
export const joinMembers = (all: readonly JsonObject[]): JsonObject => all.reduce(joinObjects, {});

function joinObjects(before: JsonObject, next: JsonObject): JsonObject {
  const joined: Record<string, Json | undefined> = { ...before };
  for (const [name, value] of Object.entries(next)) {
    const isOfFunction = name === 'function' && isJsonObject(value);
    joined[name] = isOfFunction
      ? joinObjects(objectIn(before[name]), value)
      : joinValues(before[name], value);
  }
  return joined;
}

function joinValues(before: Json | undefined, next: Json | undefined): Json | undefined {
  if (typeof before === 'string' && typeof next === 'string') return before + next;
  if (Array.isArray(before) && Array.isArray(next)) return joinLists(before, next);
  return isJsonObject(before) && isJsonObject(next) ? { ...before, ...next } : next;
}

/** The first item of a delta may continue the last item before it. */
function joinLists(before: readonly Json[], next: readonly Json[]): readonly Json[] {
  const [last, first] = [before.at(-1), next[0]];
  if (!isJsonObject(last) || !isJsonObject(first) || !continues(last, first)) return [...before, ...next];
  const joined: Record<string, Json | undefined> = { ...last };
  for (const [name, value] of Object.entries(first)) {
    if (value === null) continue;
    joined[name] = PIECES.has(name) ? joinValues(last[name], value) : value;
  }
  return [...before.slice(0, -1), joined, ...next.slice(1)];
}

/** Members of an item that are sent in pieces. */
const PIECES = new Set(['text', 'thinking', 'summary', 'reasoning']);

function continues(last: JsonObject, first: JsonObject): boolean {
  const isOver = textIn(last.signature) !== '' || last.closed === true;
  const isSame = ['type', 'index'].every((name) => last[name] === first[name]);
  const otherId = textIn(last.id) !== '' && textIn(first.id) !== '' && last.id !== first.id;
  return isSame && !isOver && !otherId && Object.keys(first).some((name) => PIECES.has(name));
}
