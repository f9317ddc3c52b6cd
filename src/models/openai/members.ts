import { isJsonObject, type Json, type JsonObject } from '../../core/json.js';
import type { AnswerBlock } from '../../core/model.js';
import type { OutputBounds } from '../exchange.js';
import { listIn, objectIn, textIn } from '../loose.js';

/*
 * Vendors add members of their own to the messages and calls of Chat Completions, most of them about the model's reasoning:
 * `reasoning_content` (DeepSeek, Kimi, Qwen, GLM), `reasoning` (vLLM, Groq), `reasoning_details` (OpenRouter, MiniMax),
 * `extra_content` (Gemini), `thinking_blocks` (LiteLLM), and parts of type `thinking` (Mistral). Most of these vendors refuse
 * or weaken a later request without them, and other vendors refuse them. So they are kept unread and go back unchanged.
 */

/** The type of the opaque block that holds the further members of its message, or of the call after it. */
const MESSAGE = 'chat-message';
const CALL = 'chat-call';

/** Members that are read, or that no vendor takes back. */
const READ_OF_MESSAGE =
  /^(role|content|tool_calls|function_call|refusal|audio|images|annotations|citations|name|index|logprobs|token_ids|stop_reason|finish_reason|matched_stop)$/;
const READ_OF_CALL = /^(index|id|type|function)$/;
const READ_OF_FUNCTION = /^(name|arguments)$/;

/** Collects the further members of one message from its deltas. */
export class MessageMembers {
  readonly #members = new Members(READ_OF_MESSAGE);

  add(delta: JsonObject, bounds: OutputBounds): void {
    const parts = listIn(delta.content)
      .map(objectIn)
      .filter(({ type }) => type !== 'text' && type !== undefined);
    this.#members.add(delta, bounds);
    if (parts.length > 0) this.#members.add({ parts }, bounds);
  }

  blocks(origin: string): readonly AnswerBlock[] {
    return opaque(origin, MESSAGE, this.#members.found);
  }
}

/** Collects the further members of one call from its fragments. */
export class CallMembers {
  readonly #ofCall = new Members(READ_OF_CALL);
  readonly #ofFunction = new Members(READ_OF_FUNCTION);

  add(fragment: JsonObject, bounds: OutputBounds): void {
    this.#ofCall.add(fragment, bounds);
    this.#ofFunction.add(objectIn(fragment.function), bounds);
  }

  blocks(origin: string): readonly AnswerBlock[] {
    const named = this.#ofFunction.found;
    return opaque(origin, CALL, { ...this.#ofCall.found, ...(hasMembers(named) && { function: named }) });
  }
}

const hasMembers = (value: JsonObject): boolean => Object.keys(value).length > 0;

function opaque(provider: string, type: string, members: JsonObject): readonly AnswerBlock[] {
  return hasMembers(members) ? [{ type: 'opaque', provider, block: { type, members } }] : [];
}

/** The members that an opaque block adds to its message; undefined for another block. */
export const messageMembers = (block: JsonObject): JsonObject | undefined => membersIn(block, MESSAGE);

/** The members that an opaque block adds to the call after it; undefined for another block. */
export const callMembers = (block: JsonObject): JsonObject | undefined => membersIn(block, CALL);

function membersIn(block: JsonObject, type: string): JsonObject | undefined {
  return block.type === type ? objectIn(block.members) : undefined;
}

/** Joins the members of messages that are sent as one. */
export function joinMembers(all: readonly JsonObject[]): JsonObject {
  const [first = {}, ...others] = all;
  return others.reduce<JsonObject>((joined, next) => joinObjects(joined, next), first);
}

class Members {
  readonly #read: RegExp;
  found: JsonObject = {};

  constructor(read: RegExp) {
    this.#read = read;
  }

  add(given: JsonObject, bounds: OutputBounds): void {
    const further = Object.entries(given).filter(
      ([name, value]) => !this.#read.test(name) && value !== null && !isEmptyList(value),
    );
    if (further.length === 0) return;
    const members: JsonObject = Object.fromEntries(further);
    bounds.chunk(JSON.stringify(members));
    this.found = joinObjects(this.found, members);
  }
}

const isEmptyList = (value: Json | undefined): boolean => Array.isArray(value) && value.length === 0;

function joinObjects(before: JsonObject, next: JsonObject): JsonObject {
  const joined: Record<string, Json | undefined> = { ...before };
  for (const [name, value] of Object.entries(next)) joined[name] = joinValues(before[name], value);
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
