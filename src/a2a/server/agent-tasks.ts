import type { AgentProfile } from '../../core/agent.js';
import { LangoError } from '../../core/errors.js';
import type { Caller } from '../../core/identity.js';
import type { Accepted, Journal, Submission } from '../../core/journal.js';
import type { Message } from '../../core/message.js';
import type { EventType, Grant, Scope, TaskEvent, TaskRecord } from '../../core/task.js';
import { isTerminal } from '../../core/task.js';
import type { Call } from '../translate/call.js';
import type { MessageIds } from '../translate/content.js';
import type { ShownEvent } from '../translate/events.js';
import { chainIn, type ChainMark } from '../translate/extensions.js';
import { Changes } from '../translate/generation.js';
import { changesUpTo } from './generations.js';
import { assertInputModes } from './modes.js';
import { ShownText } from './shown-text.js';
import { WaitingTasks, readUpTo, type AuthorOf, type TaskReading } from './task-reading.js';

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

/** The choices of a stream about what it shows. */
export interface StreamView<Shown> {
  /** The task as it stood when the stream began. */
  readonly snapshot: (reading: TaskReading) => Shown;
  /** Undefined for an event that is not shown. What is shown without a number has no generation. */
  readonly event: (event: ShownEvent, contextId: string, generation?: number) => Shown | undefined;
  /** Whether an event is shown whole after a part of its text was shown live. Otherwise only the rest of it is. */
  readonly showsWhole: boolean;
  /** Whether live text of messages is shown. */
  readonly showsMessages: boolean;
  /** The message that an executor published in place of a task. */
  readonly reply: (message: Message, ids: MessageIds) => Shown;
  /** Whether `event` gets the true generation, which costs a reading of the task. */
  readonly isNumbered: boolean;
}

interface Stream<Shown> {
  readonly view: StreamView<Shown>;
  readonly signal: AbortSignal;
}

interface EventStream<Shown> extends Stream<Shown> {
  readonly isLast: (event: TaskEvent) => boolean;
  /** Whether the caller saw an earlier stream of the task. */
  readonly isResumed?: boolean;
}

type SentStream<Shown> = Stream<Shown> & { readonly accepted: Accepted };

interface Subscription<Shown> extends Stream<Shown> {
  readonly scope: Scope;
  readonly taskId: string;
  /** The number of the last event that the subscriber saw. */
  readonly after: number | undefined;
}

/** The tasks of one agent in the journal, as those may see them who send it messages: over any binding, or in this process. */
export class AgentTasks {
  readonly journal: Journal;
  readonly authorOf: AuthorOf;
  /** The readings of tasks that wait for a further message. */
  readonly waiting: WaitingTasks;
  readonly #options: AgentTasksOptions;

  constructor(options: AgentTasksOptions) {
    this.#options = options;
    this.journal = options.journal;
    this.authorOf = (event) => event.author ?? options.rootAgentName;
    this.waiting = new WaitingTasks(this.authorOf);
  }

  get agent(): AgentProfile {
    return this.#options.agent;
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

  /** Reads the task as it stood after the event `head`. */
  async readingAt(task: TaskRecord, head: number): Promise<TaskReading> {
    const reading = this.waiting.take(task, head);
    await readUpTo(this.journal, reading, { id: task.id, head });
    this.waiting.keep(reading);
    return reading;
  }

  /** Streams what follows a message until its run has ended. `send` is called at the first step of the stream. */
  async *sent<Shown>(send: () => Promise<SentStream<Shown>>): AsyncGenerator<Shown, void, undefined> {
    const { accepted, view, signal } = await send();
    const { task, seq } = accepted;
    const reply = await this.firstReply(accepted, signal);
    if (reply) {
      yield view.reply(...reply);
      return;
    }
    // The task as it stood after this message, so that a repeated send gets the same stream, and no event twice.
    yield view.snapshot(await this.readingAt(task, seq));
    yield* this.#events(task, seq, {
      view,
      signal,
      isLast: (event) => endsRun(event) && !(this.agent.isExecutor && asksForAuth(event)),
    });
  }

  /** Streams a task to its end. Throws `already-ended` and `invalid-input` for what cannot be followed. */
  async *subscribed<Shown>(subscribe: () => Subscription<Shown>): AsyncGenerator<Shown, void, undefined> {
    const { scope, taskId, after, view, signal } = subscribe();
    const task = await this.require(scope, taskId);
    if (after === undefined) {
      if (isTerminal(task.state)) throw ended(task);
      yield view.snapshot(await this.readingAt(task, task.head));
      yield* this.#events(task, task.head, { view, signal, isLast: endsTask });
      return;
    }
    if (after > task.head)
      throw new LangoError(
        'invalid-input',
        `The cursor ${after} is ahead of the task, whose last event is ${task.head}.`,
        { hint: 'Send the id of the last event that you received of this task in Last-Event-ID.' },
      );
    if (after === task.head && isTerminal(task.state)) return;
    yield* this.#events(task, after, { view, signal, isLast: endsTask, isResumed: true });
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

  async *#events<Shown>(
    task: TaskRecord,
    after: number,
    { view, signal, isLast, isResumed = false }: EventStream<Shown>,
  ): AsyncGenerator<Shown, void, undefined> {
    const { id: taskId, contextId } = task;
    const changes = view.isNumbered ? await changesUpTo(this.journal, taskId, after) : new Changes();
    const readingAt = (head: number) => this.readingAt(task, head);
    const text = new ShownText({ ...view, taskId, isResumed, readingAt });
    const show = (one: ShownEvent) =>
      view.event(one, contextId, one.seq === undefined ? undefined : changes.generation);
    // Begins one event earlier, so that a client sees the same of an event wherever its stream begins.
    let cursor = view.isNumbered ? after : Math.max(0, after - 1);
    for await (const { events, live } of this.journal.watch(taskId, cursor, signal)) {
      for (const event of events) {
        const isShown = changes.add(event);
        if (endsTask(event)) this.waiting.forget(taskId);
        cursor = event.seq;
        if (cursor <= after) continue;
        const ones = isShown ? text.event(event) : [];
        for (const one of ones instanceof Promise ? await ones : ones) {
          const shown = show(one);
          if (shown !== undefined) yield shown;
        }
        if (isLast(event)) return;
      }
      const ones = cursor < after ? [] : text.live(live, cursor);
      for (const one of ones instanceof Promise ? await ones : ones) {
        const shown = show(one);
        if (shown !== undefined) yield shown;
      }
    }
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

const endsTask = ({ body }: TaskEvent): boolean => body.type === 'run-end' && isTerminal(body.state);

function ended(task: TaskRecord): LangoError {
  return new LangoError('already-ended', `The task is already ${task.state}.`, {
    hint: 'Get the task, or name the last event you saw in the header Last-Event-ID to have the later ones replayed.',
  });
}
