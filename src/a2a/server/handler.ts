import {
  TaskState,
  type AgentCard,
  type CancelTaskRequest,
  type DeleteTaskPushNotificationConfigRequest,
  type GetExtendedAgentCardRequest,
  type GetTaskPushNotificationConfigRequest,
  type GetTaskRequest,
  type ListTaskPushNotificationConfigsRequest,
  type ListTaskPushNotificationConfigsResponse,
  type ListTasksRequest,
  type ListTasksResponse,
  type Message as WireMessage,
  type SendMessageRequest,
  type StreamResponse,
  type SubscribeToTaskRequest,
  type Task,
  type TaskPushNotificationConfig,
} from '@a2a-js/sdk';
import type { A2ARequestHandler, ServerCallContext } from '@a2a-js/sdk/server';
import type { AgentProfile } from '../../core/agent.js';
import { LangoError } from '../../core/errors.js';
import type { Caller } from '../../core/identity.js';
import type { Accepted, Journal } from '../../core/journal.js';
import {
  isTerminal,
  type EventType,
  type Grant,
  type Scope,
  type TaskEvent,
  type TaskRecord,
} from '../../core/task.js';
import { callOf, type Call } from '../translate/call.js';
import { keepAskedInEvent, isBareWorking } from '../translate/asked.js';
import { fromWireMessage, fromWireState, toWireMessage } from '../translate/content.js';
import { toStreamResponse, type NumberedResponse } from '../translate/events.js';
import { Changes, eventWithGeneration } from '../translate/generation.js';
import { chainIn, type ChainMark } from '../translate/extensions.js';
import type { TaskView } from '../translate/task.js';
import { changesUpTo, submitAt, untilBeyond, wantsGeneration } from './generations.js';
import { assertInputModes, assertOutputModes } from './modes.js';
import type { PushConfigs } from './push-configs.js';
import { requestForExecutor, type OfDraft } from './requests.js';
import { DEFAULT_HISTORY_LENGTH, WaitingTasks, readTask, readUpTo, type AuthorOf } from './task-reading.js';

const DEFAULT_PAGE_SIZE = 50;
/** The events that an answer to a message reads before it waits for more. */
const FIRST_READ = 256;
const WHOLE_TASK: TaskView = { historyLength: undefined, includeArtifacts: true };

export interface AgentHandlerOptions {
  readonly agent: AgentProfile;
  readonly journal: Journal;
  /** The public card for a base URL. Default: the configured base URL. */
  readonly card: (baseUrl?: string) => AgentCard;
  /** The author of events that name none (requirement A2). */
  readonly rootAgentName: string;
  /** The grant of a new task; throws when the task must not start. See `createGrant`. */
  readonly grant: (mark: ChainMark, caller: Caller) => Grant;
  /** The scope that a caller needs to decide approvals; undefined when every caller may. */
  readonly approver?: string | undefined;
  /** Undefined when this node sends no push notifications. */
  readonly push?: PushConfigs | undefined;
  /** The card for authenticated callers, for the address that a client uses; undefined when there is none. */
  readonly extendedCard?: ((baseUrl?: string) => Promise<AgentCard>) | undefined;
}

/**
 * The protocol's operations for one agent over the journal. The bindings have checked the parameters; errors are
 * `LangoError`s. Abandoning a call never touches the task.
 */
export function createAgentHandler(options: AgentHandlerOptions): A2ARequestHandler {
  return new AgentHandler(options);
}

class AgentHandler implements A2ARequestHandler {
  readonly #options: AgentHandlerOptions;
  readonly #journal: Journal;
  readonly #inputModes: readonly string[];
  readonly #outputModes: readonly string[];
  readonly #authorOf: AuthorOf;
  readonly #waiting: WaitingTasks;

  constructor(options: AgentHandlerOptions) {
    const card = options.card();
    this.#options = options;
    this.#journal = options.journal;
    this.#inputModes = card.defaultInputModes;
    this.#outputModes = card.defaultOutputModes;
    this.#authorOf = (event) => event.author ?? options.rootAgentName;
    this.#waiting = new WaitingTasks(this.#authorOf);
  }

  async getAgentCard(): Promise<AgentCard> {
    return this.#options.card();
  }

  async getAuthenticatedExtendedAgentCard(
    _params: GetExtendedAgentCardRequest,
    context: ServerCallContext,
  ): Promise<AgentCard> {
    const { baseUrl } = callOf(context);
    const { extendedCard } = this.#options;
    if (extendedCard) return extendedCard(baseUrl);
    throw new LangoError('not-supported', 'This agent has no extended card.');
  }

  async sendMessage(params: SendMessageRequest, context: ServerCallContext): Promise<WireMessage | Task> {
    const call = callOf(context);
    const accepted = await this.#submit(params, context);
    const { historyLength = DEFAULT_HISTORY_LENGTH, returnImmediately } = params.configuration ?? {};
    const view = { historyLength, includeArtifacts: true, asked: call.extensions };
    return returnImmediately === true ? this.#read(accepted.task, view) : this.#settled(accepted, view, call);
  }

  async *sendMessageStream(
    params: SendMessageRequest,
    context: ServerCallContext,
  ): AsyncGenerator<StreamResponse, void, undefined> {
    const call = callOf(context);
    const { task, seq } = await this.#submit(params, context);
    const reply = await this.#firstReply(task, seq, call.signal);
    if (reply) {
      yield { payload: { $case: 'message', value: reply } };
      return;
    }
    // The task as it stood after this message, so that a repeated send gets the same stream, and no event twice.
    const { historyLength = DEFAULT_HISTORY_LENGTH } = params.configuration ?? {};
    const view = { historyLength, includeArtifacts: true };
    yield await this.#snapshot(task, seq, { ...view, asked: call.extensions });
    yield* this.#events(task, { after: seq, call, isLast: endsRun });
  }

  async getTask(params: GetTaskRequest, context: ServerCallContext): Promise<Task> {
    const { scope, signal, extensions: asked } = callOf(context);
    const { currentGeneration: generation } = params as OfDraft;
    let record = await this.#require(scope, params.id);
    if (generation !== undefined) {
      await untilBeyond(this.#journal, record, { generation, signal });
      record = await this.#require(scope, params.id);
    }
    return this.#read(record, { historyLength: params.historyLength, includeArtifacts: true, asked });
  }

  async listTasks(params: ListTasksRequest, context: ServerCallContext): Promise<ListTasksResponse> {
    const state = fromWireState(params.status ?? TaskState.TASK_STATE_UNSPECIFIED);
    const pageSize = params.pageSize ?? DEFAULT_PAGE_SIZE;
    const { scope, extensions: asked } = callOf(context);
    const page = await this.#journal.list(scope, {
      agent: this.#options.agent.name,
      pageSize,
      ...(params.contextId ? { contextId: params.contextId } : {}),
      ...(state ? { state } : {}),
      ...(params.statusTimestampAfter ? { statusFrom: Date.parse(params.statusTimestampAfter) } : {}),
      ...(params.pageToken ? { pageToken: params.pageToken } : {}),
    });
    // By default a list has no history, and so needs the task records alone and no logs.
    const view = {
      historyLength: params.historyLength ?? 0,
      includeArtifacts: params.includeArtifacts === true,
      asked,
    };
    const tasks: Task[] = [];
    for (const record of page.tasks) tasks.push(await this.#read(record, view));
    return { tasks, nextPageToken: page.nextPageToken, pageSize, totalSize: page.totalSize };
  }

  async cancelTask(params: CancelTaskRequest, context: ServerCallContext): Promise<Task> {
    const { scope, extensions: asked } = callOf(context);
    const { id } = await this.#require(scope, params.id);
    return this.#read(await this.#journal.cancel(scope, id), { ...WHOLE_TASK, asked });
  }

  async *resubscribe(
    params: SubscribeToTaskRequest,
    context: ServerCallContext,
  ): AsyncGenerator<StreamResponse, void, undefined> {
    const call = callOf(context);
    const { scope, after } = call;
    const task = await this.#require(scope, params.id);
    if (after === undefined) {
      if (isTerminal(task.state)) throw ended(task);
      yield await this.#snapshot(task, task.head, { ...WHOLE_TASK, asked: call.extensions });
      yield* this.#events(task, { after: task.head, call, isLast: endsTask });
      return;
    }
    if (after > task.head) {
      throw new LangoError(
        'invalid-input',
        `The cursor ${after} is ahead of the task, whose last event is ${task.head}.`,
        { hint: 'Send the id of the last event that you received of this task in Last-Event-ID.' },
      );
    }
    if (after === task.head && isTerminal(task.state)) return;
    yield* this.#events(task, { after, call, isLast: endsTask });
  }

  async createTaskPushNotificationConfig(
    params: TaskPushNotificationConfig,
    context: ServerCallContext,
  ): Promise<TaskPushNotificationConfig> {
    const { push, task } = await this.#requirePushTask(params.taskId, context);
    return push.create(task, push.prepare(params, context.requestedVersion));
  }

  async getTaskPushNotificationConfig(
    params: GetTaskPushNotificationConfigRequest,
    context: ServerCallContext,
  ): Promise<TaskPushNotificationConfig> {
    const { push, task } = await this.#requirePushTask(params.taskId, context);
    return push.get(task, params.id);
  }

  async listTaskPushNotificationConfigs(
    params: ListTaskPushNotificationConfigsRequest,
    context: ServerCallContext,
  ): Promise<ListTaskPushNotificationConfigsResponse> {
    const { push, task } = await this.#requirePushTask(params.taskId, context);
    return push.list(task, params);
  }

  async deleteTaskPushNotificationConfig(
    params: DeleteTaskPushNotificationConfigRequest,
    context: ServerCallContext,
  ): Promise<void> {
    const { push, task } = await this.#requirePushTask(params.taskId, context);
    await push.delete(task, params.id);
  }

  /** Throws `push-not-supported`, and `not-found` for a task of another caller or another agent. */
  async #requirePushTask(taskId: string, context: ServerCallContext) {
    const push = this.#requirePush();
    const { scope } = callOf(context);
    await this.#require(scope, taskId);
    return { push, task: { scope, taskId } };
  }

  #requirePush(): PushConfigs {
    const { push } = this.#options;
    if (push) return push;
    throw new LangoError('push-not-supported', 'This agent sends no push notifications.', {
      hint: 'Subscribe to the task, or get it from time to time.',
    });
  }

  async #submit(params: SendMessageRequest, context: ServerCallContext): Promise<Accepted> {
    const call = callOf(context);
    const { message: wire, configuration } = params;
    if (!wire) throw new LangoError('invalid-input', 'message is missing.');
    const wanted = configuration?.taskPushNotificationConfig;
    const push = wanted && this.#requirePush().prepare(wanted, context.requestedVersion);
    assertOutputModes(configuration?.acceptedOutputModes ?? [], this.#outputModes);
    const message = fromWireMessage(wire);
    assertInputModes(message.parts, this.#inputModes);
    const mark = chainIn(wire.metadata);
    const { trace } = call;
    const { approver } = this.#options;
    const submission = {
      scope: call.scope,
      agent: this.#options.agent.name,
      message,
      contextId: wire.contextId || undefined,
      taskId: wire.taskId || undefined,
      parentTaskId: mark.parentTaskId,
      grant: { ...this.#options.grant(mark, call.scope), ...(trace === undefined ? {} : { trace }) },
      mayDecide: approver === undefined || (call.scope.scopes?.has(approver) ?? true),
      ...(this.#options.agent.isExecutor ? { request: requestForExecutor(params, call) } : {}),
      ...(push ? { push } : {}),
    };
    const { taskId } = submission;
    const { ifGenerationMatch: generation } = (configuration ?? {}) as OfDraft;
    const accepted =
      generation === undefined || taskId === undefined
        ? await this.#journal.submit(submission)
        : await submitAt(this.#journal, generation, {
            submission,
            find: () => this.#require(call.scope, taskId),
          });
    if (push) this.#options.push?.accepted(accepted.task.id);
    return accepted;
  }

  /**
   * Resolves once the run for the accepted message has ended, or with the task as it stands when the call is abandoned. An
   * executor's reply is the result in place of the task.
   */
  async #settled({ task, seq }: Accepted, view: TaskView, call: Call): Promise<WireMessage | Task> {
    const reading = this.#waiting.take(task, seq);
    let isSettled = false;
    let reply: WireMessage | undefined;
    const isAnswered = (event: TaskEvent): boolean => {
      reading.add(event);
      if (event.seq > seq && !isSettled) reply ??= replyIn(event);
      isSettled ||= event.seq > seq && endsRun(event);
      return isSettled && event.seq >= task.head;
    };
    // The run of a quick task has ended by now: then nothing has to be followed.
    let hasEnded = (await this.#journal.read(task.id, reading.head, FIRST_READ)).some(isAnswered);
    if (!hasEnded) {
      for await (const batch of this.#journal.follow(task.id, reading.head, call.signal)) {
        hasEnded = batch.some(isAnswered);
        if (hasEnded) break;
      }
    }
    if (hasEnded) this.#waiting.keep(reading);
    else if (reading.head < task.head) return this.#read(task, view);
    return reply ?? reading.toTask(view);
  }

  /**
   * Waits for the first event of an executor and returns its message; undefined for another event, and for other
   * agents.
   */
  async #firstReply(task: TaskRecord, seq: number, signal: AbortSignal): Promise<WireMessage | undefined> {
    if (!this.#options.agent.isExecutor) return undefined;
    for await (const batch of this.#journal.follow(task.id, seq, signal)) {
      const first = batch.find(({ body }) => !BEFORE_OUTPUT.has(body.type));
      if (first) return replyIn(first);
    }
    return undefined;
  }

  async #snapshot(task: TaskRecord, head: number, view: TaskView): Promise<NumberedResponse> {
    const reading = this.#waiting.take(task, head);
    await readUpTo(this.#journal, reading, { id: task.id, head });
    this.#waiting.keep(reading);
    return { payload: { $case: 'task', value: reading.toTask(view) }, seq: head };
  }

  async *#events(
    task: TaskRecord,
    { after, call, isLast }: EventRange,
  ): AsyncGenerator<NumberedResponse, void, undefined> {
    const ids = { taskId: task.id, contextId: task.contextId };
    const isNumbered = wantsGeneration(call.extensions);
    const changes = isNumbered ? await changesUpTo(this.#journal, task.id, after) : new Changes();
    // Begins one event earlier, so that a client sees the same of an event wherever its stream begins.
    const from = isNumbered ? after : Math.max(0, after - 1);
    for await (const batch of this.#journal.follow(task.id, from, call.signal)) {
      for (const event of batch) {
        const isShown = changes.add(event);
        if (event.seq <= after) continue;
        const response = isShown ? toStreamResponse(event, ids, this.#authorOf(event)) : undefined;
        const payload = response && keepAskedInEvent(response, call.extensions);
        if (payload && isNumbered)
          yield { payload: eventWithGeneration(payload, changes.generation), seq: event.seq };
        else if (payload && (event.body.type === 'run-start' || !isBareWorking(payload)))
          yield { payload, seq: event.seq };
        if (isLast(event)) return;
      }
    }
  }

  /** Throws `not-found` also for the tasks of other callers and of other agents. */
  async #require(scope: Scope, taskId: string): Promise<TaskRecord> {
    const record = await this.#journal.get(scope, taskId);
    if (record?.agent === this.#options.agent.name) return record;
    throw new LangoError('not-found', `There is no task ${taskId}.`);
  }

  #read(record: TaskRecord, view: TaskView): Promise<Task> {
    return readTask(this.#journal, record, { view, authorOf: this.#authorOf });
  }
}

interface EventRange {
  readonly after: number;
  readonly call: Call;
  readonly isLast: (event: TaskEvent) => boolean;
}

/** The events of a run before anything that its agent says. */
const BEFORE_OUTPUT: ReadonlySet<EventType> = new Set([
  'message',
  'run-start',
  'turn-start',
  'cancel-request',
]);

/** The message that an executor published in place of a task; undefined in other events. */
function replyIn({ body }: TaskEvent): WireMessage | undefined {
  if (body.type !== 'artifact' || !body.reply) return undefined;
  const { contextId, taskId, ...message } = body.reply;
  return toWireMessage({ ...message, parts: body.artifact.parts }, { contextId, taskId });
}

function endsRun({ body }: TaskEvent): boolean {
  return body.type === 'run-end';
}

function endsTask({ body }: TaskEvent): boolean {
  return body.type === 'run-end' && isTerminal(body.state);
}

function ended(task: TaskRecord): LangoError {
  return new LangoError('already-ended', `The task is already ${task.state}.`, {
    hint: 'Get the task, or name the last event you saw in the header Last-Event-ID to have the later ones replayed.',
  });
}
