import type { Part } from '../core/message.js';
import { textPart } from '../core/message.js';
import type { AnswerBlock, FunctionResult, ModelMessage } from '../core/model.js';
import { functionCalls } from '../core/model.js';
import type { TaskEvent } from '../core/task.js';
import { isInterrupted } from '../core/task.js';
import { estimateTokens } from '../core/text.js';
import { delegationTo } from './transfer.js';
import { withoutAnswers } from './user-words.js';

export interface EventsAdapterOptions {
  /** Who spoke where an event does not say (requirement A2). */
  readonly rootAgentName: string;
  /** About how much of the past a model gets, newest first. */
  readonly historyTokens: number;
}

/** Whole turns: a user's message, or an answer with the results of all its calls. */
type Turn = readonly ModelMessage[];

/** Makes a conversation for a model out of the journal's entries of a session's earlier tasks. */
export class EventsAdapter {
  readonly #options: EventsAdapterOptions;

  constructor(options: EventsAdapterOptions) {
    this.#options = options;
  }

  /** `events` in order, oldest first; those of one task stand together. Begins with a user's message, or is empty. */
  toMessages(events: readonly TaskEvent[]): readonly ModelMessage[] {
    const tasks = [...Map.groupBy(events, ({ taskId }) => taskId).values()];
    const kept: Turn[] = [];
    let left = this.#options.historyTokens;
    for (const turns of tasks.map((task) => this.#turns(task)).reverse()) {
      const fitting = newestThatFit(turns, left);
      kept.unshift(...fitting);
      if (fitting.length < turns.length) break;
      left -= sum(turns.map(size));
    }
    return kept.flat();
  }

  /** One task as turns. Without its opening message (cut off by the reader's limit) it is left out. */
  #turns(task: readonly TaskEvent[]): readonly Turn[] {
    if (task[0]?.body.type !== 'message') return [];
    const results = resultsByTurn(task);
    return task.flatMap((event) => {
      const { body } = event;
      if (body.type === 'message') return heard(withoutAnswers(body.message.parts));
      if (body.type !== 'turn-end' || body.content.length === 0) return [];
      const author = event.author ?? this.#options.rootAgentName;
      return [spoken(author, body.content, results.get(body.step) ?? new Map())];
    });
  }
}

function heard(parts: readonly Part[]): readonly Turn[] {
  return parts.length === 0 ? [] : [[{ role: 'user', parts: parts.map(withoutBytes) }]];
}

/** An answer and what its calls gave. A call that got no result is closed, so that the pair is whole. */
function spoken(
  author: string,
  content: readonly AnswerBlock[],
  results: ReadonlyMap<string, FunctionResult>,
): Turn {
  const calls = functionCalls(content);
  const answer: ModelMessage = { role: 'assistant', author, content };
  if (calls.length === 0) return [answer];
  const voices: ModelMessage[] = [];
  const closed = calls.map((call): FunctionResult => {
    const { id, name } = call;
    const result = results.get(id);
    if (!result) return { id, name, content: 'The task ended before there was a result.', isError: true };
    const { content, isError } = result;
    const agent = calls.length === 1 && !isError ? delegationTo(call, true) : undefined;
    if (agent === undefined) return { id, name, content, isError };
    voices.push({ role: 'assistant', author: agent, content: [{ type: 'text', text: content }] });
    return { id, name, content: `${agent} answered the user.`, isError };
  });
  return [answer, { role: 'results', results: closed }, ...voices];
}

/** By the step of the turn, then by call. A delegation that only waited gave no result. */
function resultsByTurn(task: readonly TaskEvent[]): ReadonlyMap<string, Map<string, FunctionResult>> {
  const turns = new Map<string, Map<string, FunctionResult>>();
  for (const { body } of task) {
    if (body.type !== 'tool-result' && body.type !== 'delegation-end') continue;
    if (body.type === 'delegation-end' && isInterrupted(body.state)) continue;
    const turn = body.step.slice(0, body.step.indexOf('.'));
    const results = turns.get(turn) ?? new Map<string, FunctionResult>();
    turns.set(turn, results.set(body.result.id, body.result));
  }
  return turns;
}

/** The opening message and the newest turns that fit beside it; all of them or none of the task. */
function newestThatFit(turns: readonly Turn[], tokens: number): readonly Turn[] {
  const [opening, ...later] = turns;
  if (!opening || size(opening) > tokens) return [];
  let left = tokens - size(opening);
  let from = later.length;
  while (from > 0 && size(later[from - 1]!) <= left) {
    from -= 1;
    left -= size(later[from]!);
  }
  return [opening, ...later.slice(from)];
}

function size(turn: Turn): number {
  return estimateTokens(JSON.stringify(turn));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** Files of the past are named, not sent again. */
function withoutBytes(part: Part): Part {
  if (part.kind !== 'file') return part;
  return textPart(`[a file: ${[part.filename, part.mediaType].filter(Boolean).join(', ') || 'unnamed'}]`);
}
