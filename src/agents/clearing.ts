import { textPart } from '../core/message.js';
import { functionCalls, type FunctionResult, type ModelMessage } from '../core/model.js';
import type { Clearing } from '../core/task.js';
import { BYTES_PER_TOKEN, cutText, estimateTokens } from '../core/text.js';
import { askUser } from './control-functions.js';
import { isFile } from './attachments.js';

/** A message of a conversation, and the turn that it belongs to; 0 for earlier tasks. */
export interface TurnMessage {
  readonly turn: number;
  readonly message: ModelMessage;
}

/** A shorter result stays: the sentence in its place would be as long. */
const SHORT_BYTES = 200;
const CLEARED = '[Cleared to make room. Call again to read it again, if the call changed nothing.]';
const CUT_ADVICE = 'the whole did not fit into the context window: ask for a part of it';
/** Stands in place of the first calls that are left out. */
const LEFT_OUT: ModelMessage = {
  role: 'user',
  parts: [textPart('[Earlier calls, and what was said before them, are left out here to make room.]')],
};

/** Returns the conversation after a clearing. Messages of the person stay, and so do questions with their replies. */
export function withoutOld(entries: readonly TurnMessage[], clearing: Clearing): TurnMessage[] {
  const gone = leftOut(entries, clearing);
  const firstGone = entries.findIndex((entry) => gone.has(entry));
  return entries.flatMap((entry, at) => {
    const noted = entries.some((one) => one.message === LEFT_OUT && !gone.has(one));
    const note = at === firstGone && !noted ? [{ turn: entry.turn, message: LEFT_OUT }] : [];
    return gone.has(entry) ? note : [...note, withShorterResults(entry, clearing)];
  });
}

/** The messages that go: of earlier tasks the oldest, and old calls with their results. */
function leftOut(
  entries: readonly TurnMessage[],
  { calls, errors, earlier }: Pick<Clearing, 'calls' | 'errors' | 'earlier'>,
): ReadonlySet<TurnMessage> {
  const gone = new Set(entries.slice(0, earlier));
  for (const [at, entry] of entries.entries()) {
    const next = entries[at + 1];
    if (entry.turn >= calls || next?.message.role !== 'results' || !hasCalls(entry.message)) continue;
    const staysWith = (result: FunctionResult) =>
      isQuestion(result) || (result.isError && entry.turn >= errors);
    if (next.message.results.some(staysWith)) continue;
    gone.add(entry).add(next);
  }
  return gone;
}

const hasCalls = (message: ModelMessage): boolean =>
  message.role === 'assistant' && functionCalls(message.content).length > 0;

/** The result of a question holds the words of a person. */
const isQuestion = ({ name }: FunctionResult): boolean => name === askUser.name;

function withShorterResults(entry: TurnMessage, { results, bytes }: Clearing): TurnMessage {
  const { turn, message } = entry;
  if (message.role !== 'results') return entry;
  const shorter = message.results.map((result) =>
    turn < results ? cleared(result) : cutResult(result, bytes ?? Infinity),
  );
  const isSame = shorter.every((result, at) => result === message.results[at]);
  return isSame ? entry : { turn, message: { role: 'results', results: shorter } };
}

function cleared(result: FunctionResult): FunctionResult {
  const { id, name, content, images = [], isError } = result;
  const isShort = images.length === 0 && Buffer.byteLength(content) <= SHORT_BYTES;
  return isShort || isError || isQuestion(result) ? result : { id, name, content: CLEARED, isError };
}

function cutResult(result: FunctionResult, bytes: number): FunctionResult {
  const { text: content, missingBytes } = cutText(result.content, bytes, CUT_ADVICE);
  return missingBytes === 0 ? result : { ...result, content };
}

/**
 * Returns the clearing that loses least among those that bring the conversation down to `target` tokens; without one, that
 * which frees most. Undefined when none frees anything. The calls of the turn `newest` stay.
 */
export function smallestClearing(
  entries: readonly TurnMessage[],
  newest: number,
  target: number,
): Clearing | undefined {
  const all = clearings(entries, newest, longestResult(entries, newest, target));
  const fits = (clearing: Clearing): boolean => tokensIn(withoutOld(entries, clearing)) <= target;
  // Each loses more than the one before.
  let [from, to] = [0, all.length - 1];
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    if (fits(all[middle]!)) to = middle;
    else from = middle + 1;
  }
  const found = all[from];
  return found && tokensIn(withoutOld(entries, found)) < tokensIn(entries) ? found : undefined;
}

/** All clearings, each of which loses more than the one before: results, then calls, then errors, then earlier tasks. */
function clearings(entries: readonly TurnMessage[], newest: number, longest: Pick<Clearing, 'bytes'>) {
  const turns = [...new Set(entries.map(({ turn }) => turn + 1))].filter((turn) => turn <= newest);
  const none: Clearing = { results: 0, calls: 0, errors: 0, earlier: 0, ...longest };
  const most: Clearing = { ...none, results: newest, calls: newest, errors: newest };
  const ofEarlier = entries.filter(({ turn }) => turn === 0).length;
  const starts = entries.flatMap(({ message }, at) =>
    at > 0 && at < ofEarlier && message.role === 'user' ? [at] : [],
  );
  return [
    none,
    ...turns.map((results) => ({ ...none, results })),
    ...turns.map((calls) => ({ ...none, results: newest, calls })),
    ...turns.map((errors) => ({ ...most, errors })),
    ...(ofEarlier > 0 ? [...starts, ofEarlier] : []).map((earlier) => ({ ...most, earlier })),
  ];
}

const MIN_RESULT_BYTES = 1_000;

/** The most bytes of each kept result, when the newest ones alone would take more than half of the room. */
function longestResult(
  entries: readonly TurnMessage[],
  newest: number,
  target: number,
): Pick<Clearing, 'bytes'> {
  const ofNewest = entries.filter(({ turn, message }) => turn >= newest && message.role === 'results');
  const count = ofNewest.reduce((sum, { message }) => sum + resultsIn(message).length, 0);
  if (tokensIn(ofNewest) <= target / 2) return {};
  const bytes = Math.floor(((target / 2) * BYTES_PER_TOKEN) / count);
  return { bytes: Math.max(MIN_RESULT_BYTES, bytes) };
}

const resultsIn = (message: ModelMessage): readonly FunctionResult[] =>
  message.role === 'results' ? message.results : [];

/** About how many tokens vendors count for an image of usual size. */
const IMAGE_TOKENS = 1_500;
/** The roles, ids and names around each text. */
const FRAME_TOKENS = 10;

const TOKENS = new WeakMap<ModelMessage, number>();

/** Estimates the tokens of messages, each once. */
export function tokensIn(entries: readonly Pick<TurnMessage, 'message'>[]): number {
  return entries.reduce((sum, { message }) => {
    const tokens = TOKENS.get(message) ?? tokensOf(message);
    TOKENS.set(message, tokens);
    return sum + tokens;
  }, 0);
}

function tokensOf(message: ModelMessage): number {
  switch (message.role) {
    case 'user':
      return sumOf(
        message.parts.map((part) =>
          isFile(part)
            ? IMAGE_TOKENS
            : estimateTokens(part.kind === 'text' ? part.text : JSON.stringify(part)) + FRAME_TOKENS,
        ),
      );
    case 'assistant':
      return sumOf(
        message.content.map(
          (block) =>
            estimateTokens(block.type === 'text' ? block.text : JSON.stringify(block)) + FRAME_TOKENS,
        ),
      );
    case 'results':
      return sumOf(
        message.results.map(
          ({ content, images = [] }) => estimateTokens(content) + images.length * IMAGE_TOKENS + FRAME_TOKENS,
        ),
      );
  }
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0);
