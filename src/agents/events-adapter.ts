import { textOf, textPart, type Part } from '../core/message.js';
import { functionCalls, type AnswerBlock, type FunctionResult, type ModelMessage } from '../core/model.js';
import { isInterrupted, isRefused, type EventBody, type TaskEvent } from '../core/task.js';
import { cutText, tokensIn } from '../core/text.js';
import { turnStep } from './agent-function.js';
import { isFile } from './attachments.js';
import { delegationTo } from './transfer.js';
import { withoutReplies } from './user-messages.js';

interface EventsAdapterOptions {
  /** The author of events that name none (requirement A2). */
  readonly rootAgentName: string;
  /** The most tokens of earlier conversation that a model gets, by estimate. The newest are kept. */
  readonly historyTokens: number;
}

/** Messages that are kept or left out together: a user's message, or an answer with the results of all its calls. */
interface Turn {
  readonly messages: readonly ModelMessage[];
  readonly tokens: number;
}

/** The turns that were made of events, which the store keeps for the next messages of a conversation. */
const MADE = new WeakMap<EventBody, { readonly of: string; readonly turns: readonly Turn[] }>();

/** Makes the turns of an event, or returns those that were made `of` the same values before. */
function madeOnce(body: EventBody, of: string, make: () => readonly Turn[]): readonly Turn[] {
  const known = MADE.get(body);
  if (known?.of === of) return known.turns;
  const turns = make();
  MADE.set(body, { of, turns });
  return turns;
}

/**
 * Turns the journal events of a session's earlier tasks (oldest first, grouped by task) into a conversation for a model. It
 * begins with a user's message, or is empty.
 */
export function conversationOf(events: readonly TaskEvent[], options: EventsAdapterOptions) {
  const tasks = [...Map.groupBy(events, ({ taskId }) => taskId).values()];
  const kept: (readonly Turn[])[] = [];
  let left = options.historyTokens;
  for (const task of tasks.reverse()) {
    const turns = turnsOf(task, options);
    const fitting = newestThatFit(turns, left);
    kept.push(fitting);
    if (fitting.length < turns.length) break;
    left = fitting.reduce((rest, { tokens }) => rest - tokens, left);
  }
  return kept.reverse().flatMap((turns) => turns.flatMap(({ messages }) => messages));
}

/**
 * Splits one task into turns. Cuts each message and result to as many bytes as the budget has tokens, about a quarter of it.
 * Returns none when the task's first message is missing because of the reader's limit.
 */
function turnsOf(
  task: readonly TaskEvent[],
  { rootAgentName, historyTokens: maxBytes }: EventsAdapterOptions,
): readonly Turn[] {
  if (task[0]?.body.type !== 'message') return [];
  const kept = withoutRefused(task);
  const results = resultsByTurn(kept, maxBytes);
  return kept.flatMap((event, index) => {
    const { body } = event;
    const author = event.author ?? rootAgentName;
    if (body.type === 'message')
      return madeOnce(body, `${maxBytes}`, () => userTurn(withoutReplies(body.message.parts), maxBytes));
    if (body.type === 'run-end') return endTurn(author, body, kept[index - 1]);
    if (body.type !== 'turn-end' || body.content.length === 0) return [];
    const answer = () => [answerTurn(author, body.content, results.get(body.step) ?? new Map())];
    return functionCalls(body.content).length === 0 ? madeOnce(body, author, answer) : answer();
  });
}

/** Leaves out a refused exchange, from the person's last message on: with it, every later request would be refused too. */
function withoutRefused(task: readonly TaskEvent[]): readonly TaskEvent[] {
  if (!task.some(({ body }) => isRefused(body))) return task;
  const last = task.findLastIndex(
    ({ body }) => body.type === 'message' && withoutReplies(body.message.parts).length > 0,
  );
  return task.slice(0, Math.max(0, last));
}

/** Says why a task ended without an answer: the model would see an open request before the next one, and do both. */
function endTurn(
  author: string,
  { state, message }: Extract<EventBody, { type: 'run-end' }>,
  before: TaskEvent | undefined,
): readonly Turn[] {
  const isAnswered = before?.body.type === 'turn-end' && functionCalls(before.body.content).length === 0;
  if (state === 'completed' || isInterrupted(state) || isAnswered) return [];
  const reason = message ? `: ${textOf(message.parts)}` : '.';
  const text = `[This request ended as ${state} before it was answered${reason}]`;
  return [turnOf({ role: 'assistant', author, content: [{ type: 'text', text }] })];
}

function userTurn(parts: readonly Part[], maxBytes: number): readonly Turn[] {
  if (parts.length === 0) return [];
  return [turnOf({ role: 'user', parts: parts.map((part) => shortened(part, maxBytes)) })];
}

/**
 * Pairs an answer with the results of its calls. A call without a result gets an error as its result. The result of a final
 * delegation becomes a message of the agent that answered the user.
 */
function answerTurn(
  author: string,
  content: readonly AnswerBlock[],
  results: ReadonlyMap<string, FunctionResult>,
): Turn {
  const calls = functionCalls(content);
  const answer: ModelMessage = { role: 'assistant', author, content };
  if (calls.length === 0) return turnOf(answer);
  const finalAnswers: ModelMessage[] = [];
  const paired = calls.map((call): FunctionResult => {
    const { id, name } = call;
    const result = results.get(id);
    if (!result) return { id, name, content: 'The task ended before there was a result.', isError: true };
    const { content, isError } = result;
    const agent = calls.length === 1 && !isError ? delegationTo(call, true) : undefined;
    if (agent === undefined) return { id, name, content, isError };
    finalAnswers.push({ role: 'assistant', author: agent, content: [{ type: 'text', text: content }] });
    return { id, name, content: `${agent} answered the user.`, isError };
  });
  return turnOf(answer, { role: 'results', results: paired }, ...finalAnswers);
}

/** Results by the step of their turn, then by call id. A delegation that waits for a person has no result yet. */
function resultsByTurn(task: readonly TaskEvent[], maxBytes: number) {
  const turns = new Map<string, Map<string, FunctionResult>>();
  for (const { body } of task) {
    if (body.type !== 'tool-result' && body.type !== 'delegation-end') continue;
    if (body.type === 'delegation-end' && isInterrupted(body.state)) continue;
    const turn = turnStep(body.step);
    const results = turns.get(turn) ?? new Map<string, FunctionResult>();
    const content = cut(body.result.content, maxBytes);
    turns.set(turn, results.set(body.result.id, { ...body.result, content }));
  }
  return turns;
}

/** Returns the first message and the newest turns that fit into `tokens`; none when the first message does not fit. */
function newestThatFit(turns: readonly Turn[], tokens: number): readonly Turn[] {
  const [opening, ...later] = turns;
  if (!opening || opening.tokens > tokens) return [];
  let left = tokens - opening.tokens;
  let from = later.length;
  while (from > 0 && later[from - 1]!.tokens <= left) {
    from -= 1;
    left -= later[from]!.tokens;
  }
  return [opening, ...later.slice(from)];
}

function turnOf(...messages: readonly ModelMessage[]): Turn {
  return { messages, tokens: tokensIn(messages) };
}

/** Cuts text. Keeps a file, which `Attachments` reads later, and replaces a file that is only linked by its name. */
function shortened(part: Part, maxBytes: number): Part {
  if (part.kind === 'text') return { ...part, text: cut(part.text, maxBytes) };
  if (part.kind === 'data' || isFile(part)) return part;
  return textPart(`[a file: ${[part.filename, part.mediaType].filter(Boolean).join(', ') || 'unnamed'}]`);
}

function cut(text: string, maxBytes: number): string {
  return cutText(text, maxBytes, 'the whole text was available in the earlier task').text;
}
