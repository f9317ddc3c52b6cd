import { newId } from '../core/ids.js';
import { isJsonObject, parseJson, parseSafeJson, type JsonObject } from '../core/json.js';
import { IMAGE_TYPES, typeOfBytes, type Part } from '../core/message.js';
import {
  functionCalls,
  type AnswerBlock,
  type FunctionCall,
  type FunctionResult,
  type ModelMessage,
  type ModelRequest,
} from '../core/model.js';
import { estimateDataTokens, estimateTokens, wellFormed } from '../core/text.js';
import { CallIds, fitName } from './call-ids.js';

/** A request that every vendor accepts, before it takes the shape of one vendor's API. */
export interface VendorRequest {
  /** The blocks of the instruction. None is blank. */
  readonly system: ModelRequest['system'];
  readonly functions: ModelRequest['functions'];
  /**
   * Alternating turns of user and assistant, as vendors require, of which there is at least one. No turn is blank, opaque
   * blocks belong to the receiver, each call has an id and a name that every vendor takes, and exactly one result in the
   * next turn. When a shortened or interrupted history lacks a result, an error takes its place; when it lacks a call, the
   * result is left out.
   */
  readonly turns: readonly Turn[];
}

/** The model that gets a request. */
export interface Receiver {
  /** The origin of the opaque blocks that it gets. */
  readonly origin: string;
  /** The name of a model that may want ids of its own form. Default: it has none. */
  readonly model?: string;
  /** Whether it refuses an answer without text and calls. */
  readonly needsText?: boolean;
  /** Whether the results of calls are text alone: their images come after them, as in most APIs. */
  readonly takesTextResults?: boolean;
  /** Whether it takes no message of the user right after results. */
  readonly needsBridge?: boolean;
}

/** Prepares a request. Leaves out blank texts and opaque blocks of others, and replaces half characters in its texts. */
export function toVendorRequest(request: ModelRequest, receiver: Receiver): VendorRequest {
  const { model = '', takesTextResults = false, needsBridge = false } = receiver;
  const turns = withResults(mergeTurns(request.messages, receiver), model);
  const shown = takesTextResults ? turns.map(withImagesAfterResults) : turns;
  return wellFormed({
    system: request.system.filter(({ text }) => text.trim() !== ''),
    functions: request.functions,
    turns: turns.length === 0 ? EMPTY : needsBridge ? shown.flatMap(bridged) : shown,
  });
}

/** In place of a conversation of blank texts, which vendors refuse. */
const EMPTY: readonly Turn[] = [
  { role: 'user', results: [], content: [{ type: 'text', text: '(an empty message)' }] },
];

/** Estimates the tokens that a vendor would count for this request, from the same form that vendors are sent. */
export const requestTokens = (request: ModelRequest, origin: string): number =>
  estimateDataTokens(toVendorRequest(request, { origin }));

/** Estimates the tokens of an output, from the same form in which it is sent back to a vendor. */
export function outputTokens(content: readonly AnswerBlock[]): number {
  return content.reduce((sum, block) => sum + estimateTokens(writtenText(block)), 0);
}

function writtenText(block: AnswerBlock): string {
  if (block.type === 'text') return block.text;
  if (block.type === 'opaque') return JSON.stringify(block.block);
  return JSON.stringify({ name: block.name, input: argumentsToSend(block) });
}

/** A part of a conversation that every vendor accepts. User and assistant turns alternate. */
export type Turn = UserTurn | AssistantTurn;

export interface UserTurn {
  readonly role: 'user';
  /** One result for each call of the previous turn, in the order of the calls. */
  readonly results: readonly FunctionResult[];
  readonly content: readonly Content[];
}

type AssistantTurn = Readonly<{ role: 'assistant'; content: readonly AnswerBlock[] }>;

function mergeTurns(messages: readonly ModelMessage[], receiver: Receiver): readonly Turn[] {
  const turns: Turn[] = [];
  for (const message of messages) {
    const turn = turnOf(message, receiver);
    const last = turns.at(-1);
    const merged = last && mergeTwo(last, turn);
    if (merged) turns[turns.length - 1] = merged;
    else if (!isBlank(turn)) turns.push(turn);
  }
  return turns;
}

function turnOf(message: ModelMessage, { origin, needsText }: Receiver): Turn {
  switch (message.role) {
    case 'user':
      return { role: 'user', results: [], content: toContent(message.parts) };
    case 'results':
      return { role: 'user', results: message.results.map(withText), content: [] };
    case 'assistant': {
      const sendable = message.content.filter((block) => isSendable(block, origin));
      const content = sendable.slice(0, sendable.findLastIndex(mayBeLast) + 1);
      const isBare = needsText === true && content.every(({ type }) => type === 'opaque');
      return { role: 'assistant', content: isBare ? [] : content };
    }
  }
}

/** The types of blocks of thoughts. An answer that a limit cut may end with one, which vendors refuse at the end. */
const THOUGHTS: ReadonlySet<unknown> = new Set(['thinking', 'redacted_thinking', 'reasoning']);

function mayBeLast(block: AnswerBlock): boolean {
  if (block.type !== 'opaque') return true;
  const { type, part } = block.block;
  return !THOUGHTS.has(isJsonObject(part) ? part.type : type);
}

function isSendable(block: AnswerBlock, origin: string): boolean {
  if (block.type === 'text') return block.text.trim() !== '';
  return block.type === 'function-call' || block.provider === origin;
}

/** Some vendors refuse a result without text. */
function withText(result: FunctionResult): FunctionResult {
  return result.content.trim() === '' && !result.images?.length ? { ...result, content: '(empty)' } : result;
}

/** Returns undefined for turns that cannot be merged: their roles differ, or the results of calls belong between them. */
function mergeTwo(first: Turn, second: Turn): Turn | undefined {
  if (first.role === 'user' && second.role === 'user') {
    return {
      role: 'user',
      results: [...first.results, ...second.results],
      content: [...first.content, ...second.content],
    };
  }
  if (first.role === 'user' || second.role === 'user') return undefined;
  if (functionCalls(first.content).length > 0) return undefined;
  return { role: 'assistant', content: [...first.content, ...second.content] };
}

function isBlank(turn: Turn): boolean {
  return turn.content.length === 0 && (turn.role === 'assistant' || turn.results.length === 0);
}

/** Gives each call an id and a name that the model takes, and exactly one result in the turn after it. */
function withResults(turns: readonly Turn[], model: string): readonly Turn[] {
  const ids = new CallIds(model);
  let before: readonly CallToAnswer[] = [];
  return turns.flatMap((turn, index): readonly Turn[] => {
    if (turn.role === 'user') {
      const paired = { ...turn, results: resultsFor(before, turn.results) };
      before = [];
      return isBlank(paired) ? [] : [paired];
    }
    const content = turn.content.map((block) =>
      block.type === 'function-call' ? { ...block, id: ids.next(block), name: fitName(block.name) } : block,
    );
    const written = functionCalls(turn.content);
    before = functionCalls(content).map(({ id, name }, at) => ({ writtenId: written[at]!.id, id, name }));
    const answered: Turn = { ...turn, content };
    if (before.length === 0 || turns[index + 1]?.role === 'user') return [answered];
    return [answered, { role: 'user', results: resultsFor(before, []), content: [] }];
  });
}

/** A call as it is sent, with the id that the journal has. */
type CallToAnswer = Readonly<{ writtenId: string; id: string; name: string }>;

function resultsFor(calls: readonly CallToAnswer[], results: readonly FunctionResult[]) {
  const unknown = { content: 'This call was interrupted; its result is not known.', isError: true };
  return calls.map(({ writtenId, ...sent }) => ({
    ...(results.find(({ id }) => id === writtenId) ?? unknown),
    ...sent,
  }));
}

export type Content =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly mediaType: (typeof IMAGE_TYPES)[number]; readonly bytes: string };

/** Keeps images and text, writes data as JSON text, replaces other files by a short description, and drops blank text. */
export function toContent(parts: readonly Part[]): readonly Content[] {
  return parts.map(contentOf).filter((content) => content.type === 'image' || content.text.trim() !== '');
}

function contentOf(part: Part): Content {
  if (part.kind === 'text') return { type: 'text', text: labeled(part) };
  if (part.kind === 'data') return { type: 'text', text: JSON.stringify(part.data) };
  const name = part.filename ? ` "${part.filename}"` : '';
  const type = part.mediaType ?? 'unknown type';
  if ('url' in part) return { type: 'text', text: `[file${name} (${type}) at ${part.url}]` };
  // The type is read from the bytes, since a vendor refuses an image whose type is wrong.
  const found = typeOfBytes(part.bytes) ?? type.replace('image/jpg', 'image/jpeg');
  const mediaType = IMAGE_TYPES.find((known) => known === found);
  if (mediaType) return { type: 'image', mediaType, bytes: part.bytes };
  const size = Buffer.byteLength(part.bytes, 'base64');
  return { type: 'text', text: `[file${name} (${type}, ${size} bytes), contents not shown]` };
}

/** Marks the text of a file as data, in a block that the text itself cannot close. */
function labeled({ text, filename }: Extract<Part, { kind: 'text' }>): string {
  if (filename === undefined) return text;
  const name = JSON.stringify(filename.replace(/[<>]/g, ' '));
  return `The text of a file from the user, as data:\n<file name=${name}>\n${text.replace(/<\/file>/gi, '')}\n</file>`;
}

function withImagesAfterResults(turn: Turn): Turn {
  if (turn.role === 'assistant') return turn;
  const images = turn.results.flatMap(({ id, name, images = [] }): readonly Content[] => {
    const shown = toContent(images);
    if (shown.length === 0) return [];
    return [{ type: 'text', text: `From the result of ${name} (${id}):` }, ...shown];
  });
  return { ...turn, content: [...images, ...turn.content] };
}

/** Has the assistant say a sentence between results and a message of the user. */
function bridged(turn: Turn): readonly Turn[] {
  if (turn.role === 'assistant' || turn.results.length === 0 || turn.content.length === 0) return [turn];
  const bridge: Turn = { role: 'assistant', content: [{ type: 'text', text: 'I read on.' }] };
  return [{ ...turn, content: [] }, bridge, { ...turn, results: [] }];
}

/** The text of a result for an API that has no mark for errors. */
export const markedText = ({ content, isError }: FunctionResult): string =>
  isError ? `Error: ${content}` : content;

/** The last request of the user, the output before it, and the request before that: vendors cache up to their ends. */
export const MARKED_TURNS = 3;

/** The blocks of an instruction as one text. */
export const systemText = (system: ModelRequest['system']): string =>
  system.map(({ text }) => text).join('\n\n');

const MAX_INVALID_CHARACTERS = 2_000;

/**
 * Parses the call that a model wrote; `isOpen` when the vendor has not closed it. Missing arguments become an empty object, a
 * missing id a new one. Never throws.
 */
export function toFunctionCall(
  { id, name, argumentsText }: Readonly<Record<'id' | 'name' | 'argumentsText', string>>,
  isOpen: boolean,
): FunctionCall {
  const args = argumentsIn(argumentsText);
  return {
    type: 'function-call',
    id: id || `call_${newId()}`,
    name,
    arguments: args,
    ...(args === undefined ? { invalid: argumentsText.slice(0, MAX_INVALID_CHARACTERS) } : {}),
    ...(isOpen && { isCut: true }),
  };
}

/** The texts that models write for a call without arguments. */
const NOTHING: ReadonlySet<string> = new Set(['', 'null', '[]', 'None', 'undefined']);
/** A Markdown block around arguments, and the empty object that some gateways send before them. */
const AROUND = /^```\w*\s|\s*```$|^\{\}\s*(?=\{)/g;

/** Reads arguments in the forms that models write them: an object, or its JSON once more as a text or in a Markdown block. */
function argumentsIn(text: string): JsonObject | undefined {
  const bare = text.trim().replace(AROUND, '').trim();
  if (NOTHING.has(bare)) return {};
  const value = parseJson(bare);
  return typeof value === 'string' ? argumentsIn(value) : keepableObject(bare);
}

/** Gives each call of an answer an id of its own: some servers repeat them. */
export function withOwnIds(content: readonly AnswerBlock[]): readonly AnswerBlock[] {
  const ids = new Set<string>();
  return content.map((block) => {
    if (block.type !== 'function-call') return block;
    const own = ids.has(block.id) ? { ...block, id: `call_${newId()}` } : block;
    ids.add(own.id);
    return own;
  });
}

/** Parses a JSON object. Undefined when `text` holds no complete object, or one that cannot be stored. */
export function keepableObject(text: string): JsonObject | undefined {
  const value = parseSafeJson(text);
  return isJsonObject(value) ? value : undefined;
}

/** The arguments of a call as they are sent back to a vendor. Vendors accept objects only. */
export function argumentsToSend(call: FunctionCall): JsonObject {
  return call.arguments ?? { INVALID_JSON: call.invalid ?? '' };
}
