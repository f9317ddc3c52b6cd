import { hashJson, type JsonObject } from '../../core/json.js';
import { textOf, type Part } from '../../core/message.js';
import { answerText, functionCalls, type FunctionResult, type ModelMessage } from '../../core/model.js';
import { ASK, DECLINE, PROVIDER_ID, TRANSFER } from './control.js';

/** What is to be done now, read from the messages alone: the same messages always give the same turn. */
export interface Turn {
  /** What the person asked for. */
  readonly text: string;
  /** Names of what came with it that is not text. */
  readonly attachments: readonly string[];
  /** The calls made for it so far, in order. */
  readonly calls: readonly MadeCall[];
  /** What our first answer to it held back for us. */
  readonly draft: JsonObject | undefined;
  /** The newest successful result from before it: what "it" means in its first words. */
  readonly earlier: Outcome | undefined;
  /** The id of a call: unique in the conversation. */
  newCallId(step: number, attempt: number): string;
}

export interface MadeCall {
  readonly id: string;
  /** The step it was made for; undefined when another model made it. */
  readonly step: number | undefined;
  readonly name: string;
  readonly arguments: JsonObject;
  readonly result: FunctionResult | undefined;
  /** For a question to the person: the answer. */
  readonly reply: string | undefined;
}

/** What came out of a step. */
export interface Outcome {
  readonly text: string;
  /** What was asked for, by the names of the placeholders or parameters. */
  readonly values: ReadonlyMap<string, string>;
}

const CALL_ID = /^offline_[0-9a-f]{8}_(\d{1,4})_(\d{1,4})$/;
const KEY_LENGTH = 8;

/**
 * Finds the request that is under way. It is the newest user message, unless that answers a question of ours; an
 * answer that `isRequest` by itself is a new request all the same.
 */
export function readTurn(messages: readonly ModelMessage[], isRequest: (text: string) => boolean): Turn {
  const start = findStart(messages, isRequest);
  const first = messages[start];
  const parts = first?.role === 'user' ? first.parts : [];
  const text = textOf(parts).trim();
  const prefix = callPrefix(messages.slice(0, start), text);
  return {
    text,
    attachments: parts.flatMap(describeAttachment),
    calls: readCalls(messages.slice(start)),
    draft: findDraft(messages.slice(start)),
    earlier: findEarlier(messages.slice(0, start)),
    newCallId: (step, attempt) => `${prefix}${step}_${attempt}`,
  };
}

function findStart(messages: readonly ModelMessage[], isRequest: (text: string) => boolean): number {
  let index = messages.findLastIndex((message) => message.role === 'user');
  while (index > 0 && isReply(messages, index) && !isRequest(textOfMessage(messages[index]))) {
    const before = messages.slice(0, index).findLastIndex((message) => message.role === 'user');
    if (before === -1) return index;
    index = before;
  }
  return Math.max(0, index);
}

/** Whether the model's last words before this message were a question to the person, of a task that still waits. */
function isReply(messages: readonly ModelMessage[], index: number): boolean {
  const at = messages.slice(0, index).findLastIndex((message) => message.role !== 'results');
  const before = messages[at];
  if (before?.role !== 'assistant') return false;
  const results = messages.slice(at, index).flatMap((each) => (each.role === 'results' ? each.results : []));
  const isOver = (id: string) => results.some((result) => result.id === id && result.isError);
  return functionCalls(before.content).some(({ name, id }) => name === ASK && !isOver(id));
}

function readCalls(messages: readonly ModelMessage[]): readonly MadeCall[] {
  const calls: MadeCall[] = [];
  const change = (matches: (call: MadeCall) => boolean, by: Partial<MadeCall>) => {
    const index = calls.findLastIndex(matches);
    if (index !== -1) calls[index] = { ...calls[index]!, ...by };
  };
  messages.forEach((message, index) => {
    if (message.role === 'assistant') {
      for (const call of functionCalls(message.content)) {
        const step = CALL_ID.exec(call.id)?.[1];
        calls.push({
          id: call.id,
          step: step === undefined ? undefined : Number(step),
          name: call.name,
          arguments: call.arguments ?? {},
          result: undefined,
          reply: undefined,
        });
      }
    } else if (message.role === 'results') {
      for (const result of message.results) {
        const isAnswer = result.name === ASK && !result.isError;
        change((call) => call.id === result.id, { result, ...(isAnswer ? { reply: result.content } : {}) });
      }
    } else if (index > 0) {
      change((call) => call.name === ASK, { reply: textOfMessage(message) });
    }
  });
  return calls;
}

function findDraft(messages: readonly ModelMessage[]): JsonObject | undefined {
  for (const message of messages) {
    const blocks = message.role === 'assistant' ? message.content : [];
    const ours = blocks.find((block) => block.type === 'opaque' && block.provider === PROVIDER_ID);
    if (ours?.type === 'opaque') return ours.block;
  }
  return undefined;
}

function findEarlier(messages: readonly ModelMessage[]): Outcome | undefined {
  for (const [index, message] of [...messages.entries()].toReversed()) {
    if (message.role !== 'results') continue;
    const result = message.results.findLast(
      (each) => !each.isError && each.name !== ASK && each.name !== DECLINE,
    );
    if (!result) continue;
    const voice = result.name === TRANSFER ? textSpoken(messages[index + 1]) : '';
    return { text: voice || result.content, values: argumentsOf(messages, result.id) };
  }
  return undefined;
}

/** What an agent said to the person itself stands after the delegation. */
function textSpoken(message: ModelMessage | undefined): string {
  return message?.role === 'assistant' ? answerText(message.content) : '';
}

function argumentsOf(messages: readonly ModelMessage[], id: string): ReadonlyMap<string, string> {
  const calls = messages.flatMap((each) => (each.role === 'assistant' ? functionCalls(each.content) : []));
  return stringValues(calls.findLast((call) => call.id === id)?.arguments ?? {});
}

export function stringValues(args: JsonObject): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(args).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

/** The hash only has to differ from those used before: the same text may have been asked for at the same place of a shortened history. */
function callPrefix(before: readonly ModelMessage[], text: string): string {
  const used = new Set<string>();
  for (const message of before) {
    if (message.role !== 'assistant') continue;
    for (const call of functionCalls(message.content))
      used.add(call.id.slice(0, 'offline_'.length + KEY_LENGTH));
  }
  for (let salt = 0; ; salt += 1) {
    const key = `offline_${hashJson([before.length, text, salt]).slice(0, KEY_LENGTH)}`;
    if (!used.has(key)) return `${key}_`;
  }
}

function textOfMessage(message: ModelMessage | undefined): string {
  return message?.role === 'user' ? textOf(message.parts).trim() : '';
}

function describeAttachment(part: Part): readonly string[] {
  if (part.kind === 'text') return [];
  if (part.kind === 'data') return ['a data part'];
  const name = part.filename ? `"${part.filename}"` : 'without a name';
  return [`a file ${name}${part.mediaType ? ` (${part.mediaType})` : ''}`];
}
