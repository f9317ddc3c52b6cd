import type { AgentProfile } from '../../core/agent.js';
import { LangoError, isLangoError } from '../../core/errors.js';
import type { Caller } from '../../core/identity.js';
import type { Accepted, Journal, Submission } from '../../core/journal.js';
import type { Message } from '../../core/message.js';
import { isTerminal, type EventType, type Grant, type Scope } from '../../core/task.js';
import type { TaskEvent, TaskRecord } from '../../core/task.js';
import { Deadline } from '../../core/time.js';
import type { Call } from '../translate/call.js';
import type { MessageIds } from '../translate/content.js';
import { chainIn, type ChainMark } from '../translate/extensions.js';
import { Changes } from '../translate/generation.js';
import { assertInputModes } from './modes.js';
import { WaitingTasks, readUpTo, type AuthorOf, type TaskIds, type TaskReading } from './task-reading.js';
import { TaskStream, endsTask, type StreamRest } from './task-stream.js';

export interface AgentTasksOptions {
  readonly agent: AgentProfile;
  readonly journal: Journal;
  /** The media types that the agent takes. */
  readonly inputModes: readonly string[];
  /** The author of events that name none (requirement A2). */
  readonly rootAgentName: string;
  /** The grant of a new task; throws when the task must not start. See `createGrant`. */
  readonly grant: (mark: ChainMark, caller: Caller) => Grant;
  /** The scope that a caller needs to decide approvals; undefined when every caller may. */
  readonly approver?: string | undefined;
}

/** The longest time that a client waits for a change; it then gets the task as it is, and asks again. */
const WAIT_MS = 25_000;

type Stream<Shown> = Pick<StreamRest<Shown>, 'view' | 'signal'>;
type SentStream<Shown> = Stream<Shown> & { readonly accepted: Accepted };

interface Subscription<Shown> extends Stream<Shown> {
  readonly scope: Scope;
  readonly taskId: string;
  /** The number of the last event that the subscriber saw. */
  readonly after: number | undefined;
}

/** The tasks of one agent in the journal, as those may see them who send it messages: over any binding, or in this process. */
export class AgentTasks {
  readonly agent: AgentProfile;
  readonly journal: Journal;
  readonly authorOf: AuthorOf;
  /** The readings of tasks that wait for a further message. */
  readonly waiting: WaitingTasks;
  readonly #options: AgentTasksOptions;

  constructor(options: AgentTasksOptions) {
    this.#options = options;
    this.agent = options.agent;
    this.journal = options.journal;
    this.authorOf = (event) => event.author ?? options.rootAgentName;
    this.waiting = new WaitingTasks(this.authorOf);
  }

  /** Throws `not-found` also for the tasks of other callers and of other agents. */
  async require(scope: Scope, taskId: string): Promise<TaskRecord> {
    const record = await this.journal.get(scope, taskId);
    if (record?.agent === this.agent.name) return record;
    throw new LangoError('not-found', `Task not found. There is no task ${taskId}.`);
  }

  /** Makes the submission of a message. Throws when the agent does not take it, or its task must not start. */
  submission(message: Message, ids: MessageIds, { scope, trace }: Pick<Call, 'scope' | 'trace'>): Submission {
    const { agent, inputModes, grant, approver } = this.#options;
    assertInputModes(message.parts, inputModes);
    const mark = chainIn(message.metadata);
    return {
      scope,
      agent: agent.name,
      message,
      contextId: ids.contextId || undefined,
      taskId: ids.taskId || undefined,
      parentTaskId: mark.parentTaskId,
      grant: { ...grant(mark, scope), ...(trace === undefined ? {} : { trace }) },
      mayDecide: approver === undefined || (scope.scopes?.has(approver) ?? true),
    };
  }

  /** Resolves once the task is beyond a generation, has ended, or has not changed for a while. */
  async untilBeyond(generation: number, task: TaskRecord, signal: AbortSignal): Promise<void> {
    const changes = await readUpTo(this.journal, new Changes(), task);
    if (changes.generation > generation || isTerminal(task.state)) return;
    using waiting = new Deadline(signal, { ref: false }).expect(WAIT_MS);
    for await (const batch of this.journal.follow(task.id, task.head, waiting.signal)) {
      for (const event of batch) changes.add(event);
      if (changes.generation > generation) return;
    }
  }

  /**
   * Submits a message to a task that must have a generation, and throws `generation-mismatch` when it has another one. A
   * repeated message gets the response to its first send whatever the generation is now.
   */
  async submitAt(generation: number, submission: Submission, taskId: string): Promise<Accepted> {
    for (;;) {
      const task = await this.require(submission.scope, taskId);
      const { expected } = await readUpTo(this.journal, new Changes(), task);
      try {
        return await this.journal.submit({ ...submission, ifHead: expected === generation ? task.head : -1 });
      } catch (error) {
        // The task has moved on since it was read: look again.
        if (!isLangoError(error, 'fenced')) throw error;
        if (expected === generation) continue;
        const text = `The task is at generation ${expected}, not at ${generation}.`;
        const hint = 'Get the task, and send the message again if it still fits.';
        throw new LangoError('generation-mismatch', text, { hint });
      }
    }
  }

  /** Reads the task as it stood after the event `head`. */
  async readingAt(task: TaskIds, head: number): Promise<TaskReading> {
    const reading = await readUpTo(this.journal, this.waiting.take(task, head), { id: task.id, head });
    this.waiting.keep(reading);
    return reading;
  }

  /** Streams what follows a message until its run has ended. `send` is called at the first step of the stream. */
  sent<Shown>(send: () => Promise<SentStream<Shown>>): TaskStream<Shown> {
    return new TaskStream(this, async () => {
      const { accepted, view, signal } = await send();
      const { task, seq } = accepted;
      const reply = await this.firstReply(accepted, signal);
      if (reply) return { first: view.reply(...reply) };
      const isLast = this.agent.isExecutor ? endsWork : endsRun;
      // The task as it stood after this message, so that a repeated send gets the same stream, and no event twice.
      const first = view.snapshot(await this.readingAt(task, seq));
      return { first, rest: { task: idsOf(task), after: seq, view, signal, isLast } };
    });
  }

  /** Streams a task to its end. Throws `already-ended` and `invalid-input` for what cannot be followed. */
  subscribed<Shown>(subscribe: () => Subscription<Shown>): TaskStream<Shown> {
    return new TaskStream(this, async () => {
      const { scope, taskId, after, view, signal } = subscribe();
      const task = await this.require(scope, taskId);
      const { head } = task;
      const rest = { task: idsOf(task), view, signal, isLast: endsTask };
      if (after === undefined) {
        if (isTerminal(task.state)) throw ended(task);
        return { first: view.snapshot(await this.readingAt(task, head)), rest: { ...rest, after: head } };
      }
      if (after > head)
        throw new LangoError(
          'invalid-input',
          `The cursor ${after} is ahead of the task, whose last event is ${head}.`,
          { hint: 'Send the id of the last event that you received of this task in Last-Event-ID.' },
        );
      if (after === head && isTerminal(task.state)) return {};
      return { rest: { ...rest, after, isResumed: true } };
    });
  }

  /** Waits for the first event of an executor. Undefined unless it is a message in place of a task. */
  async firstReply({ task, seq }: Accepted, signal: AbortSignal): Promise<ReturnType<typeof replyIn>> {
    if (!this.agent.isExecutor) return undefined;
    for await (const batch of this.journal.follow(task.id, seq, signal)) {
      const first = batch.find(({ body }) => !BEFORE_OUTPUT.has(body.type));
      if (first) return replyIn(first);
    }
    return undefined;
  }
}

/** The events of a run before anything that its agent says. */
const BEFORE_OUTPUT: ReadonlySet<EventType> = new Set([
  'message',
  'run-start',
  'turn-start',
  'results-cleared',
  'cancel-request',
]);

/** The message that an executor published in place of a task; undefined in other events. */
export function replyIn({ body }: TaskEvent): readonly [Message, MessageIds] | undefined {
  if (body.type !== 'artifact' || !body.reply) return undefined;
  const { contextId, taskId, ...message } = body.reply;
  return [
    { ...message, parts: body.artifact.parts },
    { contextId, taskId },
  ];
}

export function endsRun({ body }: TaskEvent): boolean {
  return body.type === 'run-end';
}

/** Whether a task waits for a credential. To an executor it may come by another way, so the stream stays open. */
export function asksForAuth({ body }: TaskEvent): boolean {
  return (body.type === 'status' || body.type === 'run-end') && body.state === 'auth-required';
}

/** Whether the stream of a message to an executor ends. */
const endsWork = (event: TaskEvent): boolean => endsRun(event) && !asksForAuth(event);

/** A stream may wait for hours, and the rest of a record is large. */
const idsOf = ({ id, contextId }: TaskRecord): TaskIds => ({ id, contextId });

function ended(task: TaskRecord): LangoError {
  return new LangoError('already-ended', `The task is already ${task.state}.`, {
    hint: 'Get the task, or name the last event you saw in the header Last-Event-ID to have the later ones replayed.',
  });
}
