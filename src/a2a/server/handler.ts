import { TaskState } from '@a2a-js/sdk';
import type {
  AgentCard,
  GetTaskRequest,
  ListTaskPushNotificationConfigsRequest as PushList,
  ListTasksRequest,
  Message as WireMessage,
  SendMessageRequest,
  Task,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk';
import type { A2ARequestHandler, ServerCallContext } from '@a2a-js/sdk/server';
import { LangoError } from '../../core/errors.js';
import type { Accepted, Journal } from '../../core/journal.js';
import type { TaskEvent, TaskRecord } from '../../core/task.js';
import { callOf, type Call } from '../translate/call.js';
import { fromWireMessage, fromWireState, toWireMessage } from '../translate/content.js';
import { wantsGeneration } from '../translate/generation.js';
import type { LocalAgent, TaskCalls } from '../translate/task-calls.js';
import { TaskFold, type TaskView } from '../translate/task.js';
import { AgentTasks, asksForAuth, endsRun, replyIn, type AgentTasksOptions } from './agent-tasks.js';
import { LocalTasks } from './local-tasks.js';
import { assertOutputModes } from './modes.js';
import type { PushConfigs } from './push-configs.js';
import { requestForExecutor, type OfDraft } from './requests.js';
import { DEFAULT_HISTORY_LENGTH, TaskReading, readUpTo } from './task-reading.js';
import { WireView } from './task-stream.js';

type Named = Readonly<Record<'id', string>>;
type PushName = Readonly<Record<'taskId' | 'id', string>>;

const DEFAULT_PAGE_SIZE = 50;
/** The events that the response to a message reads before it waits for more. */
const FIRST_READ = 256;
/** The longest wait of a send that returns immediately for the first event of an executor. */
const FIRST_EVENT_MS = 10_000;
const NO_EVENTS = new TaskFold();
const WHOLE_TASK: TaskView = { historyLength: undefined, includeArtifacts: true };

interface AgentHandlerOptions extends Omit<AgentTasksOptions, 'inputModes'> {
  /** The public card for a base URL. Default: the configured base URL. */
  readonly card: (baseUrl?: string) => AgentCard;
  /** Undefined when this node sends no push notifications. */
  readonly push?: PushConfigs | undefined;
  /** The card for authenticated callers, for the address that a client uses; undefined when there is none. */
  readonly extendedCard?: ((baseUrl?: string) => Promise<AgentCard>) | undefined;
}

/**
 * The protocol's operations for one agent over the journal. The bindings have checked the parameters; errors are
 * `LangoError`s. Abandoning a call never touches the task.
 */
export function createAgentHandler(options: AgentHandlerOptions): A2ARequestHandler & LocalAgent {
  return new AgentHandler(options);
}

class AgentHandler implements A2ARequestHandler, LocalAgent {
  /** The same for a peer in this process. */
  readonly tasks: TaskCalls;
  readonly #options: AgentHandlerOptions;
  readonly #journal: Journal;
  readonly #outputModes: readonly string[];
  readonly #tasks: AgentTasks;

  constructor(options: AgentHandlerOptions) {
    const card = options.card();
    this.#options = options;
    this.#journal = options.journal;
    this.#outputModes = card.defaultOutputModes;
    this.#tasks = new AgentTasks({ ...options, inputModes: card.defaultInputModes });
    this.tasks = new LocalTasks(this.#tasks);
  }

  async getAgentCard(): Promise<AgentCard> {
    return this.#options.card();
  }

  async getAuthenticatedExtendedAgentCard(_params: unknown, context: ServerCallContext): Promise<AgentCard> {
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
    const waits = returnImmediately !== true;
    return await (waits ? this.#settled(accepted, view, call) : this.#begun(accepted, view, call));
  }

  sendMessageStream(params: SendMessageRequest, context: ServerCallContext) {
    return this.#tasks.sent(async () => {
      const { signal, extensions } = callOf(context);
      const accepted = await this.#submit(params, context);
      const { historyLength = DEFAULT_HISTORY_LENGTH } = params.configuration ?? {};
      const shown = { historyLength, includeArtifacts: true, asked: extensions };
      return { accepted, view: new WireView(shown, this.#tasks.authorOf), signal };
    });
  }

  async getTask(params: GetTaskRequest, context: ServerCallContext): Promise<Task> {
    const { scope, signal, extensions: asked } = callOf(context);
    const { currentGeneration: generation } = params as OfDraft;
    let record = await this.#tasks.require(scope, params.id);
    if (generation !== undefined) {
      await this.#tasks.untilBeyond(generation, record, signal);
      record = await this.#tasks.require(scope, params.id);
    }
    return this.#read(record, { historyLength: params.historyLength, includeArtifacts: true, asked });
  }

  async listTasks(params: ListTasksRequest, context: ServerCallContext) {
    const state = fromWireState(params.status ?? TaskState.TASK_STATE_UNSPECIFIED);
    const pageSize = params.pageSize ?? DEFAULT_PAGE_SIZE;
    const { scope, extensions: asked } = callOf(context);
    const page = await this.#journal.list(scope, {
      agent: this.#options.agent.name,
      pageSize,
      ...(params.contextId && { contextId: params.contextId }),
      ...(state && { state }),
      ...(params.statusTimestampAfter && { statusFrom: Date.parse(params.statusTimestampAfter) }),
      ...(params.pageToken && { pageToken: params.pageToken }),
    });
    // By default a list has no history, and so needs the task records alone and no logs.
    const { historyLength = 0, includeArtifacts = false } = params;
    const view = { historyLength, includeArtifacts, asked };
    const tasks: Task[] = [];
    for (const record of page.tasks)
      tasks.push(needsLog(view) ? await this.#read(record, view) : NO_EVENTS.toTask(record, view));
    return { tasks, nextPageToken: page.nextPageToken, pageSize, totalSize: page.totalSize };
  }

  async cancelTask(params: Named, context: ServerCallContext): Promise<Task> {
    const { scope, extensions: asked } = callOf(context);
    const { id } = await this.#tasks.require(scope, params.id);
    const canceled = await this.#journal.cancel(scope, id);
    this.#tasks.waiting.forget(id);
    return this.#read(canceled, { ...WHOLE_TASK, asked });
  }

  resubscribe(params: Named, context: ServerCallContext) {
    return this.#tasks.subscribed(() => {
      const { scope, after, signal, extensions } = callOf(context);
      const view = new WireView({ ...WHOLE_TASK, asked: extensions }, this.#tasks.authorOf);
      return { scope, taskId: params.id, after, view, signal };
    });
  }

  async createTaskPushNotificationConfig(params: TaskPushNotificationConfig, context: ServerCallContext) {
    const { push, task } = await this.#requirePushTask(params.taskId, context);
    return push.create(task, push.prepare(params, context));
  }

  async getTaskPushNotificationConfig({ taskId, id }: PushName, context: ServerCallContext) {
    const { push, task } = await this.#requirePushTask(taskId, context);
    return push.get(task, id);
  }

  async listTaskPushNotificationConfigs(params: PushList, context: ServerCallContext) {
    const { push, task } = await this.#requirePushTask(params.taskId, context);
    return push.list(task, params);
  }

  async deleteTaskPushNotificationConfig({ taskId, id }: PushName, context: ServerCallContext) {
    const { push, task } = await this.#requirePushTask(taskId, context);
    await push.delete(task, id);
  }

  /** Throws `push-not-supported`, and `not-found` for a task of another caller or another agent. */
  async #requirePushTask(taskId: string, context: ServerCallContext) {
    const push = this.#requirePush();
    const { scope } = callOf(context);
    await this.#tasks.require(scope, taskId);
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
    const push = wanted && this.#requirePush().prepare(wanted, context);
    assertOutputModes(configuration?.acceptedOutputModes ?? [], this.#outputModes);
    const submission = {
      ...this.#tasks.submission(fromWireMessage(wire), wire, call),
      ...(this.#options.agent.isExecutor ? { request: requestForExecutor(params, call) } : {}),
      ...(push ? { push } : {}),
    };
    const { taskId } = submission;
    const { ifGenerationMatch: generation } = (configuration ?? {}) as OfDraft;
    const accepted =
      generation === undefined || taskId === undefined
        ? await this.#journal.submit(submission)
        : await this.#tasks.submitAt(generation, submission, taskId);
    if (push) this.#options.push?.accepted(accepted.task.id);
    return accepted;
  }

  /**
   * Resolves with the task as it stands. For an executor it waits a while for the first event, as the stock server does
   * without a limit: a message is the result in place of the task.
   */
  async #begun(accepted: Accepted, view: TaskView, { scope, signal }: Call): Promise<WireMessage | Task> {
    const { task } = accepted;
    if (!this.#options.agent.isExecutor) return this.#read(task, view);
    const enough = AbortSignal.timeout(FIRST_EVENT_MS);
    const reply = await this.#tasks.firstReply(accepted, AbortSignal.any([signal, enough]));
    if (reply) return toWireMessage(...reply);
    return this.#read(await this.#tasks.require(scope, task.id), view);
  }

  /**
   * Resolves once the run for the accepted message has ended, or with the task as it stands when the call is abandoned. An
   * executor's reply is the result in place of the task.
   */
  async #settled({ task, seq }: Accepted, view: TaskView, call: Call): Promise<WireMessage | Task> {
    const reading = this.#tasks.waiting.take(task, seq);
    let isSettled = false;
    let reply: ReturnType<typeof replyIn>;
    const isComplete = (event: TaskEvent): boolean => {
      reading.add(event);
      if (event.seq > seq && !isSettled) reply ??= replyIn(event);
      isSettled ||= event.seq > seq && (endsRun(event) || asksForAuth(event));
      return isSettled && event.seq >= task.head;
    };
    // The run of a quick task has ended by now: then nothing has to be followed.
    const first = this.#journal.read(task.id, reading.head, FIRST_READ);
    let hasEnded = (first instanceof Promise ? await first : first).some(isComplete);
    if (!hasEnded) {
      for await (const batch of this.#journal.follow(task.id, reading.head, call.signal)) {
        hasEnded = batch.some(isComplete);
        if (hasEnded) break;
      }
    }
    if (hasEnded) this.#tasks.waiting.keep(reading);
    else if (reading.head < task.head) return this.#read(task, view);
    return reply ? toWireMessage(...reply) : reading.toTask(view);
  }

  /** Builds a task from its record, and from its log as far as the view needs it. */
  async #read(record: TaskRecord, view: TaskView): Promise<Task> {
    if (!needsLog(view)) return NO_EVENTS.toTask(record, view);
    const reading = new TaskReading(record, this.#tasks.authorOf);
    return (await readUpTo(this.#journal, reading, record)).toTask(view);
  }
}

function needsLog({ historyLength, includeArtifacts, asked }: TaskView): boolean {
  return historyLength !== 0 || includeArtifacts || wantsGeneration(asked);
}
