import type { Agent, PeerDirectory } from '../core/agent.js';
import { LangoError, errorText, isLangoError, type ErrorCode } from '../core/errors.js';
import { defined } from '../core/json.js';
import { textPart, type Message, type Part } from '../core/message.js';
import type { RunEnd } from '../core/run.js';
import { isInterrupted, isTerminal, type TaskRecord } from '../core/task.js';
import type { BodyOf, EventBody, Question } from '../core/task.js';
import { AlarmClock } from '../core/time.js';
import { scrubEvent } from '../scrub/data.js';
import { SUSPECT_CRASHES, type TaskStore } from '../stores/tasks.js';
import type { OpenDelegation } from './replay.js';
import { isOutage } from './run-appends.js';
import type { TaskRun } from './task-run.js';

/** A suspect fails after this many crashes: half of them happened while no other suspect ran. */
const MAX_CRASHES = 2 * SUSPECT_CRASHES;
/** After an abort, the worker stops waiting for an agent that does not return within this time. */
const AGENT_STOP_GRACE_MS = 5_000;
/** Reasons for an abort after which the task is taken up again. */
const LATER: ReadonlySet<ErrorCode> = new Set(['unavailable', 'fenced', 'storage']);

export interface RunWorkOptions {
  readonly store: Pick<TaskStore, 'append' | 'lastCrash'>;
  /** The agents of this node, by name. Filled before `start`. */
  readonly agents: ReadonlyMap<string, Agent>;
  /** The agents that can be delegated to. Their open tasks are canceled when the task that delegated ends. */
  readonly peers: Pick<PeerDirectory, 'get'>;
  /** The wall-clock time of one pass over a task. */
  readonly runSeconds: number;
}

/**
 * Has the agent of a task work on it within its time, and closes the run with exactly one `run-end` event, unless another
 * process has to go on with the task. Resolves with `again` when the task has to run again, as another message arrived
 * during the run, and with `never` when it has ended. Never rejects.
 */
export async function workOn(run: TaskRun, options: RunWorkOptions): Promise<'again' | 'later' | 'never'> {
  const limit = limitTime(run, options);
  const known = run.inputs.length;
  try {
    const result = await runAgent(run, options);
    if (result && acceptsMoreInput(result) && run.inputs.length > known) {
      await run.settle();
      return 'again';
    }
    await (result ? close(run, result, options) : run.settle());
    if (result && isTerminal(result.state)) return 'never';
  } catch (error) {
    const level = isLangoError(error, 'fenced') ? 'info' : 'error';
    run.logger[level]('a run ended without its run-end event', { error: errorText(error) });
  } finally {
    limit[Symbol.dispose]();
  }
  return 'later';
}

/** For the time limits of all runs. */
const CLOCK = new AlarmClock();

function limitTime(run: TaskRun, { runSeconds }: RunWorkOptions): Disposable {
  const left = (run.grant.deadline ?? Infinity) - Date.now();
  return CLOCK.after(Math.min(runSeconds * 1_000, left), () => {
    const isDeadline = left < runSeconds * 1_000;
    const text = isDeadline ? 'The deadline passed.' : `The time limit of ${runSeconds} s passed.`;
    run.abort(new LangoError('timeout', text));
  });
}

/** The result of the run; undefined when this process must not close it. */
async function runAgent(run: TaskRun, { store, agents }: RunWorkOptions): Promise<RunResult | undefined> {
  const agent = agents.get(run.task.agent);
  if (run.task.crashes >= MAX_CRASHES) {
    const cause = store.lastCrash ?? 'it was killed, or ran out of memory';
    const text =
      `The server process ended ${run.task.crashes} times while it worked on this task, ` +
      `which got no further. The last time: ${cause}.`;
    return { state: 'failed', reason: 'crashed', text };
  }
  if (!agent) {
    const text = `This node does not run the agent ${run.task.agent}.`;
    return { state: 'failed', reason: 'no-agent', text };
  }
  try {
    if (!run.abortReason) {
      const end = await run.untilAborted(agent.run(run), AGENT_STOP_GRACE_MS);
      if (!run.abortReason) return end;
    }
  } catch (error) {
    // An agent that could not read because the database is away is run again later.
    if (!run.abortReason) return isOutage(error) ? undefined : resultOfFailure(run, error);
  }
  return resultOfAbort(run.abortReason);
}

/** Appends the one `run-end` event. */
async function close(run: TaskRun, result: RunResult, { store, peers }: RunWorkOptions): Promise<void> {
  const { task } = run;
  const open = isTerminal(result.state) ? run.openDelegations : [];
  if (open.length > 0) await cancelDelegations(task, open, peers);
  try {
    await run.append(runEndEvent(run, result), result.author);
  } catch (error) {
    // The run's writer stops at its first failure, for example an oversized event. The `run-end` event must still be
    // written, unless another process owns the task now, or the database fails: the task then runs again.
    if (isLangoError(error, 'fenced') || isLangoError(error, 'storage')) throw error;
    const body = scrubEvent(runEndEvent(run, resultOfFailure(run, error)), run.scrubber);
    await store.append(run.appendFence, [{ author: task.agent, body }]);
  }
}

/** Cancels the tasks of peers that a task delegated and that have not ended. */
export async function cancelDelegations(
  task: TaskRecord,
  open: readonly OpenDelegation[],
  peers: RunWorkOptions['peers'],
): Promise<void> {
  const { contextId } = task;
  await Promise.all(
    open.map(async ({ agent, taskId, messageId }) => {
      const target = taskId === undefined ? { contextId, messageId } : { taskId };
      await peers.get(agent)?.cancel(task, target);
    }),
  );
}

/** The result of a run: from its agent, or from the abort or failure that ended it. */
type RunResult = Omit<RunEnd, 'state'> & Pick<BodyOf<'run-end'>, 'state'>;

/** True when a message that arrived during the run could still change the result, so the task runs again. */
function acceptsMoreInput(result: RunResult): boolean {
  return result.state === 'completed' || isInterrupted(result.state);
}

/** Undefined when this process must not close the task, because it continues elsewhere, later, or after a restart. */
function resultOfAbort(reason: LangoError | undefined): RunResult | undefined {
  if (reason && LATER.has(reason.code)) return undefined;
  if (isLangoError(reason, 'canceled')) return { state: 'canceled' };
  const code = isLangoError(reason, 'timeout') ? 'limit-seconds' : 'internal';
  return { state: 'failed', reason: code, text: errorText(reason) };
}

/** The text of an unexpected error goes to the server log only. Clients never see it. */
function resultOfFailure(run: TaskRun, error: unknown): RunResult {
  if (isLangoError(error)) return { state: 'failed', reason: error.code, text: error.message };
  run.logger.error('an agent failed', { error: error instanceof Error ? error.stack : String(error) });
  return { state: 'failed', reason: 'internal', text: 'Internal error. The log of the server says more.' };
}

/** The event that closes a run: the last one that its epoch may write. */
export function runEndEvent(run: TaskRun, result: RunResult): EventBody {
  const { reason, metadata, questions, refused } = result;
  const message = closingMessage(run, result);
  return {
    type: 'run-end',
    state: result.state,
    ...defined({ reason, message, metadata, questions, refused }),
    usage: run.usage(),
    ...(run.hasReadOutside() ? { fromOutside: true } : {}),
  };
}

/** A question as a part of a message: a data part `{ "question": { … } }` (the approval extension). */
export function questionPart(question: Question): Part {
  return { kind: 'data', data: { question: { ...question } }, mediaType: 'application/json' };
}

function closingMessage(run: TaskRun, result: RunResult): Message | undefined {
  if (result.message) return result.message;
  const parts = [
    ...(result.text === undefined ? [] : [textPart(result.text)]),
    ...(result.questions ?? []).map(questionPart),
  ];
  if (parts.length === 0) return undefined;
  return { id: `${run.task.id}:end:${run.attempt}`, role: 'agent', parts };
}
