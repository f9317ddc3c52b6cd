import { textPart } from '../core/message.js';
import { functionCalls, type FunctionResult, type ModelMessage } from '../core/model.js';
import type { Clearing } from '../core/task.js';
import { BYTES_PER_TOKEN, cutText, tokensIn } from '../core/text.js';
import { askUser } from './control-functions.js';

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
  const kept = entries
    .filter((entry) => !gone.has(entry))
    .map((entry) => withShorterResults(entry, clearing));
  const first = entries.findIndex((entry) => gone.has(entry));
  if (first < 0 || kept.some(({ message }) => message === LEFT_OUT)) return kept;
  return kept.toSpliced(first, 0, { turn: entries[first]!.turn, message: LEFT_OUT });
}

/** The messages that go: of earlier tasks the oldest, and old calls with their results. */
function leftOut(entries: readonly TurnMessage[], { calls, errors, earlier }: Clearing) {
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
 * which frees most. The calls of the turn `newest` stay.
 */
export function smallestClearing(entries: readonly TurnMessage[], newest: number, target: number): Clearing {
  const all = clearings(entries, newest, longestResult(entries, newest, target));
  const fits = (clearing: Clearing): boolean => tokensIn(withoutOld(entries, clearing)) <= target;
  // Each loses more than the one before.
  let [from, to] = [0, all.length - 1];
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    if (fits(all[middle]!)) to = middle;
    else from = middle + 1;
  }
  return all[from]!;
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
function longestResult(entries: readonly TurnMessage[], newest: number, target: number) {
  const results = entries.flatMap(({ turn, message }) =>
    turn >= newest && message.role === 'results' ? message.results : [],
  );
  if (tokensIn(results) <= target / 2) return {};
  const bytes = Math.floor(((target / 2) * BYTES_PER_TOKEN) / results.length);
  return { bytes: Math.max(MIN_RESULT_BYTES, bytes) };
}
