import type { AgentLimits } from '../core/agent.js';
import { LangoError } from '../core/errors.js';
import { hashJson } from '../core/json.js';
import type {
  FunctionCall,
  FunctionResult,
  FunctionSpec,
  ModelErrorCode,
  ModelEvent,
  ModelMessage,
  ModelProvider,
  ModelRequest,
  RefusalReason,
  SystemBlock,
} from '../core/model.js';
import { answerText, functionCalls } from '../core/model.js';
import type { Run, RunEnd } from '../core/run.js';
import type { EventBody } from '../core/task.js';
import { scrubEvent } from '../scrub/data.js';
import type { AgentFunction, Call, CallOutcome } from './agent-function.js';
import { refuse } from './agent-function.js';
import type { Admission } from './call-ledger.js';
import { questionText } from './asking.js';
import { isAttached } from './attachments.js';
import { CallLedger } from './call-ledger.js';
import { billed, withinBudget, type Meter } from './meter.js';
import { UserMessages } from './user-messages.js';

/** The system blocks and functions of one turn. */
export interface TurnSetup {
  readonly system: readonly SystemBlock[];
  readonly functions: readonly AgentFunction[];
}

export interface LoopOptions {
  readonly run: Run;
  readonly model: ModelProvider;
  readonly limits: AgentLimits;
  readonly meter?: Meter | undefined;
  /** The session's earlier conversation. */
  readonly history: readonly ModelMessage[];
  /** Replaces the files of messages by what the model reads of them. */
  readonly readable: (messages: readonly ModelMessage[]) => Promise<readonly ModelMessage[]>;
  /** Whether the run begins with text from outside (a page, a document, an agent of another server). */
  readonly fromOutside: boolean;
  /** Whether the person is told the vendor's own words when the model fails. */
  readonly showsReasons: boolean;
  /** Called at each turn, because peers and tools come and go. */
  readonly setUpTurn: () => TurnSetup;
}

/**
 * Works on one task until it ends or waits for a person: asks the model, performs the calls of its answer in parallel,
 * and asks again with their results. Each turn and each call is a recorded step, so a resumed run repeats the same
 * steps and performs only those without a result.
 */
export async function runLoop(options: LoopOptions): Promise<RunEnd> {
  const { run, limits, readable } = options;
  const messages = new UserMessages(run);
  const conversation: ModelMessage[] = [...options.history, ...(await readable(messages.request()))];
  const ledger = new CallLedger(limits);
  let refusals = 0;
  for (let turn = 1; ; turn += 1) {
    const step = `t${turn}`;
    if (!run.recorded(step)?.result) {
      const spent = tokensSpent(run, limits);
      if (spent) return spent;
      conversation.push(...(await readable(messages.unread())));
    }
    const { system, functions } = options.setUpTurn();
    const last = lastTurn(turn, ledger, limits);
    const offered = last ? [] : functions.flatMap(({ spec }) => (spec ? [spec] : []));
    const answer = await takeTurn({
      ...{ run, step, limits, model: options.model, meter: options.meter },
      showsReasons: options.showsReasons,
      fromOutside: options.fromOutside || run.hasReadOutside() || hasFile(run),
      request: {
        system: last ? [...system, note(last.note)] : system,
        messages: withNewestImages(conversation, options.model.readsImages),
        functions: offered,
        maxTokens: limits.answerTokens,
      },
    });
    if ('state' in answer) return answer;

    const calls = functionCalls(answer.content);
    if (answer.stopReason === 'refusal') return conclude(run, answer);
    conversation.push({ role: 'assistant', author: run.task.agent, content: answer.content });
    let author = calls.length === 0 ? run.task.agent : undefined;
    if (author === undefined) {
      if (last) return last.end;
      const done = await performCalls({ run, step, calls, functions, offered, ledger });
      if ('state' in done) return messages.leftApprovalOpen ? withApprovalHint(done) : done;
      refusals = done.refused ? refusals + 1 : 0;
      if (refusals >= MAX_REFUSALS) return endOfRefusals(done);
      conversation.push({ role: 'results', results: done.results });
      author = done.author;
    }
    // The answer ends the run, unless the user sent more messages meanwhile.
    const unread = author === undefined ? [] : messages.unread();
    if (author !== undefined && (unread.length === 0 || last)) {
      return calls.length > 0 ? { state: 'completed', author } : conclude(run, answer);
    }
    conversation.push(...(await readable(unread)));
  }
}

/** Returns the end of a run whose last turn is its answer. */
function conclude(run: Run, answer: TurnEnd): RunEnd {
  const text = answerText(answer.content);
  if (answer.stopReason === 'refusal') {
    return { state: 'rejected', reason: 'model-refusal', text: text || 'The model declined to answer this.' };
  }
  const cut = answer.stopReason === 'max-tokens';
  if (text.trim() === '') {
    const why = cut
      ? ' It used up the length of an answer before it said anything (agent.limits.answerTokens).'
      : '';
    return { state: 'failed', reason: 'model-empty', text: `The model gave no answer.${why}` };
  }
  if (cut) {
    const mark = '[The answer was cut off at its greatest length (agent.limits.answerTokens).]';
    sayAnswer(run, { text: `${text}\n\n${mark}`, replace: true });
  }
  return { state: 'completed' };
}

function tokensSpent(run: Run, limits: AgentLimits): RunEnd | undefined {
  const { input, output } = run.usage();
  const limit = Math.min(limits.tokens, run.grant.tokens ?? Infinity);
  if (input + output < limit) return undefined;
  const text = `Stopped: the ${limit} tokens of this task are used up (agent.limits.tokens).`;
  return { state: 'failed', reason: 'limit-tokens', text };
}

/** A run ends after so many answers in a row of which no call could be made: the model does not learn from the reasons. */
const MAX_REFUSALS = 4;

function endOfRefusals({ results }: Done): RunEnd {
  const text = `Stopped: none of the calls in ${MAX_REFUSALS} answers in a row could be made. The last reason: ${results.at(-1)?.content}`;
  return { state: 'failed', reason: 'limit-refusals', text };
}

interface LastTurn {
  /** Tells the model that it gets no functions any more. */
  readonly note: string;
  /** The end of the run when the model calls a function nevertheless. */
  readonly end: RunEnd;
}

/** Describes the last turn, in which the model must answer; undefined when more turns are allowed. */
function lastTurn(turn: number, ledger: CallLedger, limits: AgentLimits): LastTurn | undefined {
  if (turn >= limits.turns) {
    const limit = `the ${limits.turns} turns of this task are used up (agent.limits.turns)`;
    return lastTurnBecause(limit, 'limit-turns');
  }
  if (ledger.exhausted) {
    const limit = `the ${limits.toolCalls} calls of this task are used up (agent.limits.toolCalls)`;
    return lastTurnBecause(limit, 'limit-tool-calls');
  }
  return undefined;
}

function lastTurnBecause(limit: string, reason: string): LastTurn {
  return {
    note: `From here on no function can be called: ${limit}. Answer now from what you have, and say what is missing.`,
    end: { state: 'failed', reason, text: `Stopped: ${limit}.` },
  };
}

export function note(text: string): SystemBlock {
  return { text, stable: false };
}

interface CallBatch {
  readonly run: Run;
  readonly step: string;
  readonly calls: readonly FunctionCall[];
  readonly functions: readonly AgentFunction[];
  readonly offered: readonly FunctionSpec[];
  readonly ledger: CallLedger;
}

interface Done {
  /** In the order of the calls. */
  readonly results: readonly FunctionResult[];
  /** The agent that wrote the user's answer; undefined while there is none. */
  readonly author: string | undefined;
  /** Whether every call was refused. */
  readonly refused: boolean;
}

/** Performs the calls of one answer. Returns their results, or the end of the run that they cause. */
async function performCalls(batch: CallBatch): Promise<Done | RunEnd> {
  const admissions = batch.calls.map((call) => batch.ledger.enter(call));
  const stop = admissions.find((admission) => admission.type === 'end');
  if (stop) return stop.end;

  const outcomes: CallOutcome[] = [];
  for (const group of inOrder(batch)) {
    const settled = await Promise.allSettled(
      group.map((index) => performCall(batch, index, admissions[index]!)),
    );
    for (const [position, result] of settled.entries()) {
      if (result.status === 'rejected') throw result.reason;
      outcomes[group[position]!] = result.value;
    }
    const ended = outcomes.find((outcome) => outcome?.type === 'end');
    if (ended) return ended.end;
  }
  return (
    waitingEnd(outcomes) ?? {
      results: outcomes.flatMap((outcome) => ('result' in outcome ? [outcome.result] : [])),
      author: outcomes.find((outcome) => outcome.type === 'answered')?.author,
      refused: outcomes.every((outcome) => outcome.type === 'result' && outcome.refused === true),
    }
  );
}

/** Groups the calls: first those that may end the run, then all others, which run in parallel. */
function inOrder({ calls, functions }: CallBatch): readonly (readonly number[])[] {
  const leading = new Set(functions.filter(({ first }) => first).map(({ name }) => name));
  const { first = [], rest = [] } = Object.groupBy(calls.keys(), (index) =>
    leading.has(calls[index]!.name) ? 'first' : 'rest',
  );
  return [first, rest];
}

async function performCall(batch: CallBatch, index: number, admission: Admission): Promise<CallOutcome> {
  const { run, calls, functions, offered } = batch;
  const { id, name, arguments: given, invalid } = calls[index]!;
  const step = `${batch.step}.c${index}`;
  const key = hashJson([run.task.id, step, name, given ?? {}]);
  const call: Call = { run, step, id, name, arguments: given ?? {}, key, alone: calls.length === 1 };
  const recorded = run.recorded(step)?.result;
  if (recorded?.type === 'tool-result') return { type: 'result', result: recorded.result };
  if (admission.type === 'refuse') return refuse(call, admission.reason);
  if (!given)
    return refuse(
      call,
      `the arguments of ${name} are not a JSON object that can be used: ${invalid ?? 'nothing'}`,
    );
  const called = functions.find((candidate) => candidate.name === name);
  if (called) return called.call(call);
  const names = offered.map((spec) => spec.name).join(', ') || 'none; answer from what you have';
  const cutOff = run.recorded(step)
    ? ', so the interrupted call was not continued: its outcome is unknown'
    : '';
  return refuse(call, `there is no function "${name}"${cutOff}. Valid names: ${names}`);
}

/** Adds to open approvals that other words do not decide them. */
function withApprovalHint(end: RunEnd): RunEnd {
  if (!end.questions?.some(({ kind }) => kind !== 'input')) return end;
  return { ...end, text: `${end.text ?? ''}\nOther words decide nothing.` };
}

/** Returns the end of a run with calls that wait for a person; undefined when none waits. */
function waitingEnd(outcomes: readonly CallOutcome[]): RunEnd | undefined {
  const waiting = outcomes.filter((outcome) => outcome.type === 'waiting');
  if (waiting.length === 0) return undefined;
  const questions = waiting.flatMap((outcome) => outcome.questions);
  const state = waiting.every((outcome) => outcome.state === 'auth-required')
    ? 'auth-required'
    : 'input-required';
  return { state, text: questions.map(questionText).join('\n'), questions };
}

/** The artifact that holds an agent's answer. Each turn with text starts it again. */
const ANSWER_ARTIFACT_ID = 'answer';

type TurnEnd = Extract<EventBody, { type: 'turn-end' }>;

interface TurnOptions {
  readonly run: Run;
  readonly step: string;
  readonly model: ModelProvider;
  readonly meter: Meter | undefined;
  readonly limits: AgentLimits;
  readonly request: Omit<ModelRequest, 'signal'>;
  /** Whether the request holds text from outside; the answer is marked the same. */
  readonly fromOutside: boolean;
  readonly showsReasons: boolean;
}

/** Returns the recorded answer of this turn, or asks the model and streams its text into the journal. */
async function takeTurn(options: TurnOptions): Promise<TurnEnd | RunEnd> {
  const { run, step, model } = options;
  const recorded = run.recorded(step);
  if (recorded?.result?.type === 'turn-end') return recorded.result;
  const request = withinBudget(options);
  if ('state' in request) return request;
  if (!recorded) run.emit({ type: 'turn-start', step });

  let hasText = false;
  for await (const event of model.stream({ ...request, signal: run.signal })) {
    run.signal.throwIfAborted();
    switch (event.type) {
      case 'text':
        if (event.text === '') break;
        sayAnswer(run, { text: event.text, replace: !hasText || event.restarts === true });
        hasText = true;
        break;
      case 'end': {
        // Scrubbed here, so that this run and a resumed run perform the same calls.
        const mark = options.fromOutside ? { fromOutside: true } : {};
        const turnEnd = scrubEvent<TurnEnd>(
          { type: 'turn-end', step, ...billed(event.answer, options), ...mark },
          run.scrubber,
        );
        run.emit(turnEnd);
        return turnEnd;
      }
      case 'error':
        run.logger.warn('the model gave no answer', {
          model: model.id,
          code: event.code,
          error: event.message,
        });
        return failure(event, options.showsReasons);
    }
  }
  run.signal.throwIfAborted();
  throw new LangoError('model', 'the model provider ended its stream without an end event');
}

export interface Speech {
  readonly text: string;
  /** Whether the text starts the answer again. */
  readonly replace: boolean;
  /** Default: the agent of the run. */
  readonly author?: string;
}

export function sayAnswer(run: Run, { text, replace, author }: Speech): void {
  run.emit({ type: 'text-delta', artifactId: ANSWER_ARTIFACT_ID, text, replace, lastChunk: false }, author);
}

/** The text for callers who may not read the vendor's own words: those can name accounts, limits and addresses. */
const FAILURES: Readonly<Record<ModelErrorCode | RefusalReason, string>> = {
  canceled: 'The model call was canceled.',
  overloaded: 'The model is overloaded. Try again later.',
  'rate-limited': 'The model provider takes no more requests for now. Try again later.',
  unreachable: 'The model could not be reached. `lango doctor --model` says why.',
  rejected: 'The model provider refused the request. The server log says why.',
  'bad-answer': 'The model gave an answer that could not be read.',
  key: 'The model vendor refused the key of this server. Its operator can see why: `lango doctor --model`.',
  'model-name':
    'The model vendor does not know the model of this server. Its operator can see why: `lango doctor --model`.',
  credit: 'The account of this server at the model vendor has no credit left.',
  length: 'The conversation is too long for the model. Begin a new one, or send less.',
};

function failure(
  { code, message, about }: Extract<ModelEvent, { type: 'error' }>,
  showsReasons: boolean,
): RunEnd {
  const text = showsReasons ? message : FAILURES[about ?? code];
  return { state: 'failed', reason: `model-${code}`, text };
}

/** How many images of results a request holds: an image costs about as much as a page of text, at every turn. */
const IMAGES_SHOWN = 2;

const NO_LONGER_SHOWN =
  '[The image that came with this is not shown any more. Call the function again to see how it is now.]';

/** Whether the user sent a file: its contents are text from outside. */
function hasFile({ inputs }: Run): boolean {
  return inputs.some(({ message }) => message.parts.some(isAttached));
}

/**
 * Returns the conversation with the images of its newest results only; a sentence replaces each older image. A model that
 * reads no images gets none.
 */
function withNewestImages(messages: readonly ModelMessage[], readsImages = true): readonly ModelMessage[] {
  if (!readsImages) return messages.map(withoutResultImages);
  let left = IMAGES_SHOWN;
  const newestFirst = messages.toReversed().map((message) => {
    if (message.role !== 'results') return message;
    const results = message.results.toReversed().map((result) => {
      const count = result.images?.length ?? 0;
      const isShown = count <= left;
      left = Math.max(0, left - count);
      return isShown ? result : withoutImages(result);
    });
    return { ...message, results: results.reverse() };
  });
  return newestFirst.reverse();
}

function withoutResultImages(message: ModelMessage): ModelMessage {
  if (message.role !== 'results') return message;
  return { ...message, results: message.results.map(({ images: _, ...result }) => result) };
}

function withoutImages({ images: _, ...result }: FunctionResult): FunctionResult {
  return { ...result, content: `${result.content}\n${NO_LONGER_SHOWN}` };
}
