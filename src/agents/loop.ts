import type { AgentLimits } from '../core/agent.js';
import type { FunctionCall, FunctionResult, FunctionSpec, ModelMessage } from '../core/model.js';
import { answerText, functionCalls, type StopReason, type SystemBlock } from '../core/model.js';
import type { Run, RunEnd } from '../core/run.js';
import { keyOf, meantFunction, refuse } from './agent-function.js';
import type { AgentFunction, Call, CallOutcome } from './agent-function.js';
import { AskedRequests } from './asked-request.js';
import { stopped } from './budget.js';
import { CallLedger } from './call-ledger.js';
import { questionText } from './asking.js';
import { isAttached } from './attachments.js';
import { ContextWindow } from './context-window.js';
import { refusedEnd, sayAnswer, takeTurn, type TurnEnd, type TurnOptions } from './model-turn.js';
import { concludeWithData, repairRequest, WRONG_OUTPUT, type OutputReader } from './output.js';
import { UserMessages } from './user-messages.js';

export type SetUpTurn = (messages: readonly ModelMessage[]) => {
  readonly system: readonly SystemBlock[];
  readonly functions: readonly AgentFunction[];
};

interface LoopOptions extends Pick<TurnOptions, 'run' | 'model' | 'budget' | 'showsReasons'> {
  readonly limits: AgentLimits;
  /** The session's earlier conversation. */
  readonly history: readonly ModelMessage[];
  /** Replaces the files of messages by their text, or by images that the model reads. */
  readonly readable: (messages: readonly ModelMessage[]) => Promise<readonly ModelMessage[]>;
  /** Whether the run begins with text from outside (a page, a document, an agent of another server). */
  readonly fromOutside: boolean;
  /** Reads the answer of an agent that answers with data. Default: the answer is text. */
  readonly output?: OutputReader | undefined;
  /** Called at each turn with the conversation until then, because peers and tools come and go. */
  readonly setUpTurn: SetUpTurn;
}

/**
 * Works on one task until it ends or waits for a person: asks the model, performs the calls of its answer in parallel,
 * and asks again with their results. Each turn and each call is a recorded step, so a resumed run repeats the same
 * steps and performs only those without a result.
 */
export async function runLoop(options: LoopOptions): Promise<RunEnd> {
  const { run, limits, readable, model, history } = options;
  const messages = new UserMessages(run);
  const conversation = new ContextWindow(run, model, history);
  conversation.add(...(await readable(messages.request())));
  const ledger = new CallLedger(limits);
  const requests = new AskedRequests();
  let refusals = 0;
  let wasRepaired = false;
  for (let turn = 1; ; turn += 1) {
    const step = `t${turn}`;
    conversation.add(...(await readable(messages.unread(readBefore(run, turn)))));
    const { system, functions } = options.setUpTurn(conversation.messages);
    // After the set-up, like a clearing of this turn itself, so that a resumed run finds the same functions.
    conversation.begin(turn);
    const last = lastTurn(turn, ledger, limits);
    const offered = last ? [] : functions.flatMap(({ spec }) => (spec ? [spec] : []));
    const request = {
      system: last ? [...system, note(last.note)] : system,
      functions: offered,
      maxTokens: limits.answerTokens,
      ...(options.output && { output: options.output.schema }),
    };
    // The contents of a file that the user sent are text from outside.
    const hasFile = () => run.inputs.some(({ message }) => message.parts.some(isAttached));
    const answer = await takeTurn({
      ...{ ...options, step, conversation, requests, request, readCount: messages.readCount },
      fromOutside: options.fromOutside || run.hasReadOutside() || hasFile(),
    });
    if ('state' in answer) return answer;
    conversation.measure(request, answer);

    const calls = functionCalls(answer.content);
    if (answer.stopReason === 'refusal') return conclude(run, answer, options);
    conversation.add({ role: 'assistant', author: run.task.agent, content: answer.content });
    let author = calls.length === 0 ? run.task.agent : undefined;
    if (author === undefined) {
      if (last) return last.end;
      const whyCut = cutBy(answer.stopReason, limits);
      const done = await performCalls({ run, step, calls, functions, offered, ledger, whyCut });
      if ('state' in done) return messages.leftApprovalOpen ? withApprovalHint(done) : done;
      refusals = done.refused ? refusals + 1 : 0;
      if (refusals >= MAX_REFUSALS) return endOfRefusals(done);
      conversation.add({ role: 'results', results: done.results });
      author = done.author;
    }
    // The answer ends the run, unless the user sent more messages meanwhile.
    const unread = author === undefined ? [] : messages.unread(readBefore(run, turn + 1) || undefined);
    if (author !== undefined && (unread.length === 0 || last)) {
      if (calls.length > 0) return { state: 'completed', author };
      const end = conclude(run, answer, options);
      if (end.reason !== WRONG_OUTPUT || last || wasRepaired) return end;
      wasRepaired = true;
      conversation.add(repairRequest(end));
    }
    conversation.add(...(await readable(unread)));
  }
}

/** The number of messages that the model had got before a recorded turn, or 0 where it is not known; undefined for a new turn. */
function readBefore(run: Run, turn: number): number | undefined {
  const result = run.recorded(`t${turn}`)?.result;
  return result?.type === 'turn-end' ? (result.readCount ?? 0) : undefined;
}

/** Returns the end of a run whose last turn is its answer. */
function conclude(
  run: Run,
  answer: TurnEnd,
  { output, showsReasons }: Pick<LoopOptions, 'output' | 'showsReasons'>,
): RunEnd {
  const { content, stopReason } = answer;
  const text = answerText(content);
  const mark = MARKS[stopReason];
  if (text.trim() === '') {
    if (stopReason === 'refusal') return refusedEnd(answer, '', showsReasons);
    const why = ' It used up all tokens of an answer before its first text (agent.limits.answerTokens).';
    const cut = stopReason === 'max-tokens' ? why : '';
    return { state: 'failed', reason: 'model-empty', text: `The model gave no answer.${cut}` };
  }
  if (output && stopReason !== 'refusal') return concludeWithData(run, text, output);
  if (mark) sayAnswer(run, { text: `${text}\n\n[${mark}]`, replace: true });
  return stopReason === 'refusal' ? refusedEnd(answer, text, showsReasons) : { state: 'completed' };
}

/** The mark after a text that the model did not write to its end. */
const MARKS: Readonly<Partial<Record<StopReason, string>>> = {
  'max-tokens': 'The answer was cut off at the limit of its length (agent.limits.answerTokens).',
  'context-window': 'The answer was cut off because the context window of the model is full.',
  refusal: 'The answer ends here: the model, or a filter of its vendor, declined to go on.',
};

/** The characters of a token, by a low estimate: what is written in smaller pieces fits in any case. */
const CHARACTERS_PER_TOKEN = 3;

/** Tells the model why a call was cut, and what fits. */
function cutBy(stopReason: StopReason, { answerTokens }: AgentLimits): string {
  const advice = 'Do the same in smaller calls, such as a file in several pieces.';
  if (stopReason === 'context-window')
    return `the context window was full before its arguments were whole. ${advice}`;
  const room = `about ${answerTokens * CHARACTERS_PER_TOKEN} characters`;
  return `the answer reached its limit of ${answerTokens} tokens (agent.limits.answerTokens) before its arguments were whole. An answer, with all its thoughts and calls, has room for ${room}. ${advice}`;
}

/** The run ends after so many answers whose calls were all refused, because the model ignores the reasons. */
const MAX_REFUSALS = 4;

function endOfRefusals({ results }: Done): RunEnd {
  const text = `Stopped: none of the calls in ${MAX_REFUSALS} answers in a row could be made. The last reason: ${results.at(-1)?.content}`;
  return { state: 'failed', reason: 'limit-refusals', text };
}

/** Describes the last turn, in which the model must answer; undefined when more turns are allowed. */
function lastTurn(turn: number, ledger: CallLedger, limits: AgentLimits) {
  if (turn < limits.turns && !ledger.exhausted) return undefined;
  const [what, key, reason] =
    turn >= limits.turns
      ? ([`${limits.turns} turns`, 'turns', 'limit-turns'] as const)
      : ([`${limits.toolCalls} calls`, 'toolCalls', 'limit-tool-calls'] as const);
  const limit = `the ${what} of this task are used up (agent.limits.${key})`;
  return {
    /** Tells the model that it can call no more functions. */
    note: `From here on no function can be called: ${limit}. Answer now from what you have, and say what is missing.`,
    /** The end of the run when the model calls a function nevertheless. */
    end: stopped(reason, limit),
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
  /** The reason for the model why a call that was cut is not made. */
  readonly whyCut: string;
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
  const stop = admissions.find((admission) => typeof admission === 'object');
  if (stop) return stop;

  const outcomes: CallOutcome[] = [];
  for (const group of inOrder(batch)) {
    const settled = await Promise.allSettled(
      group.map((index) => performCall(batch, index, admissions[index])),
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
    leading.has(meantFunction(calls[index]!.name, functions)?.name ?? '') ? 'first' : 'rest',
  );
  return [first, rest];
}

async function performCall(
  batch: CallBatch,
  index: number,
  admission: ReturnType<CallLedger['enter']>,
): Promise<CallOutcome> {
  const { run, calls, functions, offered } = batch;
  const { id, name: written, arguments: given, invalid, isCut } = calls[index]!;
  const step = `${batch.step}.c${index}`;
  const called = meantFunction(written, functions);
  const name = called?.name ?? written;
  const unkeyed = { run, step, id, name, arguments: given ?? {}, alone: calls.length === 1 };
  const call: Call = { ...unkeyed, key: keyOf(unkeyed) };
  const recorded = run.recorded(step)?.result;
  if (recorded?.type === 'tool-result' && !recorded.asks) return { type: 'result', result: recorded.result };
  if (typeof admission === 'string') return refuse(call, admission);
  if (isCut) return refuse(call, `the call of ${name} was not made: ${batch.whyCut}`);
  const what = invalid ?? 'there are none';
  if (!given) return refuse(call, `the arguments of ${name} are not a JSON object that can be used: ${what}`);
  if (called) return called.call(call);
  const names = offered.map((spec) => spec.name).join(', ') || 'none; answer from what you have';
  const cutOff = ', so the interrupted call was not continued: its outcome is unknown';
  return refuse(
    call,
    `there is no function "${name}"${run.recorded(step) ? cutOff : ''}. Valid names: ${names}`,
  );
}

/** Adds to the text of open approvals that any other reply leaves them open. */
function withApprovalHint(end: RunEnd): RunEnd {
  if (!end.questions?.some(({ kind }) => kind !== 'input')) return end;
  return { ...end, text: `${end.text ?? ''}\nAny other reply leaves this open.` };
}

/** Returns the end of a run with calls that wait for a person; undefined when none waits. */
function waitingEnd(outcomes: readonly CallOutcome[]): RunEnd | undefined {
  const waiting = outcomes.filter((outcome) => outcome.type === 'waiting');
  if (waiting.length === 0) return undefined;
  const questions = waiting.flatMap((outcome) => outcome.questions);
  const isForAuth = waiting.every((outcome) => outcome.state === 'auth-required');
  const state = isForAuth ? 'auth-required' : 'input-required';
  return { state, text: questions.map((one) => questionText(one, questions)).join('\n'), questions };
}
