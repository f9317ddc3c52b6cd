import {
  functionCalls,
  type AnswerBlock,
  type FunctionCall,
  type FunctionResult,
  type ModelMessage,
} from '../core/model.js';
import { toContent, type Content } from './content.js';

/** A conversation in the form that vendors insist on. */
export type Turn = UserTurn | AssistantTurn;

export interface UserTurn {
  readonly role: 'user';
  /** One for each call of the turn before, in the order of the calls. */
  readonly results: readonly FunctionResult[];
  readonly content: readonly Content[];
}

interface AssistantTurn {
  readonly role: 'assistant';
  readonly content: readonly AnswerBlock[];
}

/**
 * Messages as turns in which user and assistant alternate, nothing is blank, opaque blocks are of `provider`,
 * and each call has exactly one result, right after it. Vendors refuse a conversation that breaks one of these, and
 * a shortened or interrupted history does: a missing result is filled in, one without its call is left out.
 */
export function toTurns(messages: readonly ModelMessage[], provider: string): readonly Turn[] {
  return withPairedResults(mergeTurns(messages, provider));
}

function mergeTurns(messages: readonly ModelMessage[], provider: string): readonly Turn[] {
  const turns: Turn[] = [];
  for (const message of messages) {
    const turn = turnOf(message, provider);
    const last = turns.at(-1);
    const merged = last && mergeTwo(last, turn);
    if (merged) turns[turns.length - 1] = merged;
    else if (!isBlank(turn)) turns.push(turn);
  }
  return turns;
}

function turnOf(message: ModelMessage, provider: string): Turn {
  switch (message.role) {
    case 'user':
      return { role: 'user', results: [], content: toContent(message.parts) };
    case 'results':
      return { role: 'user', results: message.results, content: [] };
    case 'assistant':
      return { role: 'assistant', content: message.content.filter((block) => isSendable(block, provider)) };
  }
}

function isSendable(block: AnswerBlock, provider: string): boolean {
  if (block.type === 'text') return block.text.trim() !== '';
  return block.type === 'function-call' || block.provider === provider;
}

/** Undefined when the two must stay apart: other roles, or calls whose results are still due between them. */
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

function withPairedResults(turns: readonly Turn[]): readonly Turn[] {
  return turns.flatMap((turn, index): readonly Turn[] => {
    const before = turns[index - 1];
    if (turn.role === 'user') {
      const calls = before?.role === 'assistant' ? functionCalls(before.content) : [];
      const paired = { ...turn, results: resultsFor(calls, turn.results) };
      return isBlank(paired) ? [] : [paired];
    }
    const calls = functionCalls(turn.content);
    if (calls.length === 0 || turns[index + 1]?.role === 'user') return [turn];
    return [turn, { role: 'user', results: resultsFor(calls, []), content: [] }];
  });
}

function resultsFor(
  calls: readonly FunctionCall[],
  results: readonly FunctionResult[],
): readonly FunctionResult[] {
  return calls.map((call) => results.find((result) => result.id === call.id) ?? noResult(call));
}

function noResult({ id, name }: FunctionCall): FunctionResult {
  return { id, name, content: 'This call was interrupted; its result is not known.', isError: true };
}
