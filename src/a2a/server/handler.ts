import { TaskState, type AgentCard, type Message, type SendMessageRequest, type Task } from '@a2a-js/sdk';
import type { A2ARequestHandler, ServerCallContext } from '@a2a-js/sdk/server';
import type { AgentProfile } from '../../core/agent.js';
import { LangoError } from '../../core/errors.js';
import type { Caller } from '../../core/identity.js';
import type { Accepted, Journal } from '../../core/journal.js';
import type { EventType, Grant, Scope, TaskEvent, TaskRecord } from '../../core/task.js';
import { isTerminal } from '../../core/task.js';
import { callOf, type Call } from '../translate/call.js';
import { keepAskedInEvent, isBareWorking } from '../translate/asked.js';
import { fromWireMessage, fromWireState, toWireMessage } from '../translate/content.js';
import { toStreamResponse, type NumberedResponse } from '../translate/events.js';
import { Changes, eventWithGeneration, wantsGeneration } from '../translate/generation.js';
import { chainIn, type ChainMark } from '../translate/extensions.js';
import type { TaskView } from '../translate/task.js';
import { changesUpTo, submitAt, untilBeyond } from './generations.js';
import { assertInputModes, assertOutputModes } from './modes.js';
import type { PushConfigs } from './push-configs.js';
import { requestForExecutor, type OfDraft } from './requests.js';
import { DEFAULT_HISTORY_LENGTH, WaitingTasks, readTask, readUpTo, type AuthorOf } from './task-reading.js';

const DEFAULT_PAGE_SIZE = 50;
/** The events that the response to a message reads before it waits for more. */
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
  const { journal, card, extendedCard } = options;
  const tasks = new AgentTasks(options);
  return {
    ...pushOperations(options, tasks),
    getAgentCard: async () => card(),

    async getAuthenticatedExtendedAgentCard(_params, context) {
      const { baseUrl } = callOf(context);
      if (extendedCard) return extendedCard(baseUrl);
      throw new LangoError('not-supported', 'This agent has no extended card.');
    },

    async sendMessage(params, context) {
      const call = callOf(context);
      const accepted = await tasks.submit(params, context);
      const view = viewOfSend(params, call);
      const isDetached = params.configuration?.returnImmediately === true;
      return isDetached ? tasks.read(accepted.task, view) : tasks.settled(accepted, view, call);
    },

    async *sendMessageStream(params, context) {
      const call = callOf(context);
      const { task, seq } = await tasks.submit(params, context);
      const reply = await tasks.firstReply(task, seq, call.signal);
      if (reply) {
        yield { payload: { $case: 'message', value: reply } };
        return;
      }
      // The task as it stood after this message, so that a repeated send gets the same stream, and no event twice.
      yield await tasks.snapshot(task, seq, viewOfSend(params, call));
      yield* tasks.events(task, { after: seq, call, isLast: endsRun });
    },

    async getTask(params, context) {
      const { scope, signal, extensions: asked } = callOf(context);
      const { currentGeneration: generation } = params as OfDraft;
      let record = await tasks.require(scope, params.id);
      if (generation !== undefined) {
        await untilBeyond(journal, record, { generation, signal });
        record = await tasks.require(scope, params.id);
      }
      return tasks.read(record, { historyLength: params.historyLength, includeArtifacts: true, asked });
    },

    // By default a list has no history, and so needs the task records alone and no logs.
    async listTasks({ pageSize = DEFAULT_PAGE_SIZE, historyLength = 0, ...params }, context) {
      const state = fromWireState(params.status ?? TaskState.TASK_STATE_UNSPECIFIED);
      const { scope, extensions: asked } = callOf(context);
      const page = await journal.list(scope, {
        agent: options.agent.name,
        pageSize,
        ...(params.contextId ? { contextId: params.contextId } : {}),
        ...(state ? { state } : {}),
        ...(params.statusTimestampAfter ? { statusFrom: Date.parse(params.statusTimestampAfter) } : {}),
        ...(params.pageToken ? { pageToken: params.pageToken } : {}),
      });
      const view = { historyLength, includeArtifacts: params.includeArtifacts === true, asked };
      const listed: Task[] = [];
      for (const record of page.tasks) listed.push(await tasks.read(record, view));
      return { tasks: listed, nextPageToken: page.nextPageToken, pageSize, totalSize: page.totalSize };
    },

    async cancelTask(params, context) {
      const { scope, extensions: asked } = callOf(context);
      const { id } = await tasks.require(scope, params.id);
      return tasks.read(await journal.cancel(scope, id), { ...WHOLE_TASK, asked });
    },

    async *resubscribe({ id }, context) {
      const call = callOf(context);
      const { scope, after: cursor, extensions: asked } = call;
      const task = await tasks.require(scope, id);
      const after = cursor ?? task.head;
      if (cursor === undefined) {
        if (isTerminal(task.state)) throw ended(task);
        yield await tasks.snapshot(task, after, { ...WHOLE_TASK, asked });
      } else if (after > task.head) throw cursorAhead(after, task);
      else if (after === task.head && isTerminal(task.state)) return;
      yield* tasks.events(task, { after, call, isLast: endsTask });
    },
  };
}

type PushOperations = Pick<A2ARequestHandler, Extract<keyof A2ARequestHandler, `${string}Push${string}`>>;

function pushOperations({ push }: AgentHandlerOptions, tasks: AgentTasks): PushOperations {
  /** Throws `push-not-supported`, and `not-found` for a task of another caller or another agent. */
  const open = async (taskId: string, context: ServerCallContext) => {
    const configs = requirePush(push);
    const { scope } = callOf(context);
    await tasks.require(scope, taskId);
    return { configs, task: { scope, taskId } };
  };
  return {
    async createTaskPushNotificationConfig(params, context) {
      const { configs, task } = await open(params.taskId, context);
      return configs.create(task, configs.prepare(params, context.requestedVersion));
    },
    async getTaskPushNotificationConfig({ taskId, id }, context) {
      const { configs, task } = await open(taskId, context);
      return configs.get(task, id);
    },
    async listTaskPushNotificationConfigs(params, context) {
      const { configs, task } = await open(params.taskId, context);
      return configs.list(task, params);
    },
    async deleteTaskPushNotificationConfig({ taskId, id }, context) {
      const { configs, task } = await open(taskId, context);
      await configs.delete(task, id);
    },
  };
}

function requirePush(push: PushConfigs | undefined): PushConfigs {
  if (push) return push;
  throw new LangoError('push-not-supported', 'This agent sends no push notifications.', {
    hint: 'Subscribe to the task, or get it from time to time.',
  });
}

function viewOfSend({ configuration }: SendMessageRequest, { extensions: asked }: Call): TaskView {
  const { historyLength = DEFAULT_HISTORY_LENGTH } = configuration ?? {};
  return { historyLength, includeArtifacts: true, asked };
}

/** The tasks of one agent in the journal, as the protocol shows them. */
class AgentTasks {
  readonly #options: AgentHandlerOptions;
  readonly #journal: Journal;
  readonly #card: AgentCard;
  readonly #authorOf: AuthorOf;
  readonly #waiting: WaitingTasks;

  constructor(options: AgentHandlerOptions) {
    this.#options = options;
    this.#journal = options.journal;
    this.#card = options.card();
    this.#authorOf = (event) => event.author ?? options.rootAgentName;
    this.#waiting = new WaitingTasks(this.#authorOf);
  }

  async submit(params: SendMessageRequest, context: ServerCallContext): Promise<Accepted> {
    const call = callOf(context);
    const { scope, trace } = call;
    const { agent, approver, push: configs } = this.#options;
    const { message: wire, configuration } = params;
    if (!wire) throw new LangoError('invalid-input', 'message is missing.');
    const wanted = configuration?.taskPushNotificationConfig;
    const push = wanted && requirePush(configs).prepare(wanted, context.requestedVersion);
    assertOutputModes(configuration?.acceptedOutputModes ?? [], this.#card.defaultOutputModes);
    const message = fromWireMessage(wire);
    assertInputModes(message.parts, this.#card.defaultInputModes);
    const mark = chainIn(wire.metadata);
    const submission = {
      scope,
      agent: agent.name,
      message,
      contextId: wire.contextId || undefined,
      taskId: wire.taskId || undefined,
      parentTaskId: mark.parentTaskId,
      grant: { ...this.#options.grant(mark, scope), ...(trace && { trace }) },
      mayDecide: approver === undefined || (scope.scopes?.has(approver) ?? true),
      ...(agent.isExecutor ? { request: requestForExecutor(params, call) } : {}),
      ...(push ? { push } : {}),
    };
    const { taskId } = submission;
    const { ifGenerationMatch: generation } = (configuration ?? {}) as OfDraft;
    const accepted =
      generation === undefined || taskId === undefined
        ? await this.#journal.submit(submission)
        : await submitAt(this.#journal, generation, { submission, find: () => this.require(scope, taskId) });
    if (push) configs?.accepted(accepted.task.id);
    return accepted;
  }

  /**
   * Resolves once the run for the accepted message has ended, or with the task as it stands when the call is abandoned. An
   * executor's reply is the result in place of the task.
   */
  async settled({ task, seq }: Accepted, view: TaskView, call: Call): Promise<Message | Task> {
    const reading = this.#waiting.take(task, seq);
    let isSettled = false;
    let reply: Message | undefined;
    const isLast = (event: TaskEvent): boolean => {
      reading.add(event);
      if (event.seq > seq && !isSettled) reply ??= replyIn(event);
      isSettled ||= event.seq > seq && endsRun(event);
      return isSettled && event.seq >= task.head;
    };
    // The run of a quick task has ended by now: then nothing has to be followed.
    let hasEnded = (await this.#journal.read(task.id, reading.head, FIRST_READ)).some(isLast);
    if (!hasEnded) {
      for await (const batch of this.#journal.follow(task.id, reading.head, call.signal)) {
        hasEnded = batch.some(isLast);
        if (hasEnded) break;
      }
    }
    if (hasEnded) this.#waiting.keep(reading);
    else if (reading.head < task.head) return this.read(task, view);
    return reply ?? reading.toTask(view);
  }

  /**
   * Waits for the first event of an executor and returns its message; undefined for another event, and for other
   * agents.
   */
  async firstReply(task: TaskRecord, seq: number, signal: AbortSignal): Promise<Message | undefined> {
    if (!this.#options.agent.isExecutor) return undefined;
    for await (const batch of this.#journal.follow(task.id, seq, signal)) {
      const first = batch.find(({ body }) => !BEFORE_OUTPUT.includes(body.type));
      if (first) return replyIn(first);
    }
    return undefined;
  }

  async snapshot(task: TaskRecord, head: number, view: TaskView): Promise<NumberedResponse> {
    const reading = this.#waiting.take(task, head);
    await readUpTo(this.#journal, reading, { id: task.id, head });
    this.#waiting.keep(reading);
    return { payload: { $case: 'task', value: reading.toTask(view) }, seq: head };
  }

  async *events(
    task: TaskRecord,
    { after, call, isLast }: { after: number; call: Call; isLast: (event: TaskEvent) => boolean },
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
  async require(scope: Scope, taskId: string): Promise<TaskRecord> {
    const record = await this.#journal.get(scope, taskId);
    if (record?.agent === this.#options.agent.name) return record;
    throw new LangoError('not-found', `There is no task ${taskId}.`);
  }

  read(record: TaskRecord, view: TaskView): Promise<Task> {
    return readTask(this.#journal, record, { view, authorOf: this.#authorOf });
  }
}

/** The events of a run before anything that its agent says. */
const BEFORE_OUTPUT: readonly EventType[] = ['message', 'run-start', 'turn-start', 'cancel-request'];

/** The message that an executor published in place of a task; undefined in other events. */
function replyIn({ body }: TaskEvent): Message | undefined {
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

function cursorAhead(cursor: number, { head }: TaskRecord): LangoError {
  const text = `The cursor ${cursor} is ahead of the task, whose last event is ${head}.`;
  const hint = 'Send the id of the last event that you received of this task in Last-Event-ID.';
  return new LangoError('invalid-input', text, { hint });
}
