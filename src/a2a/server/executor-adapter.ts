import { EventEmitter } from 'node:events';
import type {
  Artifact as WireArtifact,
  Message as WireMessage,
  SendMessageRequest,
  Task,
  TaskArtifactUpdateEvent,
  TaskStatus,
} from '@a2a-js/sdk';
import { Role, SendMessageConfiguration } from '@a2a-js/sdk';
import type { AgentExecutionEvent, AgentExecutor, ExecutionEventBus } from '@a2a-js/sdk/server';
import { RequestContext } from '@a2a-js/sdk/server';
import type { Agent, AgentProfile } from '../../core/agent.js';
import { errorText } from '../../core/errors.js';
import { isJsonObject, type JsonObject } from '../../core/json.js';
import type { Artifact } from '../../core/message.js';
import type { Run, RunEnd, RunInput } from '../../core/run.js';
import type { EventBody, Scope, TaskEvent, TaskRecord, TaskState } from '../../core/task.js';
import { inNextTurn } from '../../core/time.js';
import { toCallContext, type Call } from '../translate/call.js';
import {
  fromWireArtifact,
  fromWireMessage,
  fromWireState,
  isPlainText,
  toWireMessage,
} from '../translate/content.js';
import { OUTPUT_ARTIFACT_NAME } from '../translate/events.js';
import { EXECUTE } from '../translate/generation.js';
import { TaskReading, WaitingTasks } from './task-reading.js';

interface ExecutorAgentOptions {
  readonly executor: AgentExecutor;
  readonly profile: AgentProfile;
  /**
   * The handling of a run that a crash interrupted: `rerun` (the default) executes it again and replaces its artifacts,
   * `fail` ends it as failed, for executors whose effects must not happen twice: they begin once it is durable that they do.
   */
  readonly recover?: 'rerun' | 'fail';
}

/**
 * Makes an agent of an executor that was written for the stock SDK. Its events go into the journal; events after the
 * state that ends the run are ignored. Cancel, deadline and shutdown call its `cancelTask`.
 */
export function fromAgentExecutor(options: ExecutorAgentOptions): Agent {
  const { profile, executor, recover = 'rerun' } = options;
  const readings = new WaitingTasks((event) => event.author ?? profile.name);
  return {
    profile: { ...profile, isExecutor: true },
    async run(run) {
      const step = `${EXECUTE}${run.inputs.at(-1)!.seq}`;
      const isResumed = run.recorded(step) !== undefined;
      if (isResumed && recover === 'fail') {
        const text = 'The server stopped during this run, and the agent does not repeat interrupted runs.';
        return { state: 'failed', reason: 'interrupted', text };
      }
      const begun = { type: 'turn-start', step } as const;
      if (recover === 'fail') await run.append(begun);
      else run.emit(begun);
      return execute(executor, run, { isResumed, readings });
    },
  };
}

/** Rejects with the error of the executor, which the journal reports like the failure of any agent. */
async function execute(
  executor: AgentExecutor,
  run: Run,
  { isResumed, readings }: { readonly isResumed: boolean; readonly readings: WaitingTasks },
): Promise<RunEnd> {
  const bus = new ExecutionBus();
  const input = run.inputs.at(-1)!;
  const reading = run.inputs.length > 1 ? await readingBefore(run, input, readings) : undefined;
  const context = await requestContext(run, input, reading);
  const events = new ExecutorEvents(run, { replaceAll: isResumed, reading });
  bus.on('event', (event: AgentExecutionEvent) => events.take(event));
  const stop = (): void => void cancel(executor, run, bus);
  let signal: AbortSignal | undefined;
  // Executors that end in this turn need no signal, which takes as long to make as all their events.
  const listening = inNextTurn(() => {
    ({ signal } = run);
    // The run may have been canceled while its first event was written.
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
  try {
    executor.execute(context, bus).then(
      () => events.endOfExecution(),
      (error: unknown) => events.fail(error),
    );
    return await events.end;
  } finally {
    listening.value = undefined;
    signal?.removeEventListener('abort', stop);
    events.close();
    bus.removeAllListeners();
  }
}

/** Calls its listeners at once. That of the SDK makes a DOM event for each event. */
class ExecutionBus extends EventEmitter implements ExecutionEventBus {
  publish(event: AgentExecutionEvent): void {
    this.emit('event', event);
  }

  finished(): void {
    this.emit('finished');
  }
}

async function cancel(executor: AgentExecutor, run: Run, bus: ExecutionEventBus): Promise<void> {
  try {
    await executor.cancelTask(run.task.id, bus);
  } catch (error) {
    run.logger.warn('an executor could not cancel its task', { error: errorText(error) });
  }
}

/** Builds the context as the stock server does: the whole request, its task before it, and the tasks that it refers to. */
async function requestContext(
  run: Run,
  { message, request = {} }: RunInput,
  reading: TaskReading | undefined,
): Promise<RequestContext> {
  const { id, contextId, tenant, owner } = run.task;
  const { metadata, configuration, extensions } = request;
  const sent: SendMessageRequest = {
    tenant: '',
    message: { ...toWireMessage(message, { taskId: id, contextId }), role: Role.ROLE_USER },
    configuration: configuration === undefined ? undefined : SendMessageConfiguration.fromJSON(configuration),
    metadata: isJsonObject(metadata) ? metadata : undefined,
  };
  const context = toCallContext(
    new ExecutorCall(run, { tenant, owner }, extensions as readonly string[] | undefined),
  );
  const task = reading && ownTask(reading);
  const references = message.referenceTaskIds ?? [];
  const referenceTasks: Task[] = [];
  for (const reference of references) {
    const found = await run.readTask(reference);
    if (found) referenceTasks.push(taskWith(...found));
  }
  if (task) task.history.push(sent.message!);
  const referred = references.length > 0 ? referenceTasks : undefined;
  const sharesNothing = !task && !metadata && !message.metadata && message.parts.every(isPlainText);
  if (!sharesNothing) return new RequestContext(sent, id, contextId, context, task, referred);
  // The constructor makes a copy of the request, which takes longer than all the rest.
  const fields = { request: sent, taskId: id, contextId, context, task, referenceTasks: referred };
  return Object.assign(Object.create(RequestContext.prototype) as RequestContext, fields);
}

/** The call in whose name an executor runs. A class: a getter in a literal would make a hidden class for each call. */
class ExecutorCall implements Call {
  readonly after = undefined;
  readonly scope: Scope;
  readonly extensions: ReadonlySet<string> | undefined;
  readonly #run: Run;

  constructor(run: Run, scope: Scope, extensions: readonly string[] | undefined) {
    this.#run = run;
    this.scope = scope;
    this.extensions = extensions && new Set(extensions);
  }

  get signal(): AbortSignal {
    return this.#run.signal;
  }
}

function taskWith(task: TaskRecord, events: readonly TaskEvent[]): Task {
  const reading = new TaskReading(task, (event) => event.author ?? task.agent);
  for (const event of events) reading.add(event);
  return taskOf(reading);
}

/** Reads the task as it stood before an input. The reading is kept, so that the next run reads only what follows. */
async function readingBefore(run: Run, { seq }: RunInput, readings: WaitingTasks) {
  const reading = readings.take(run.task, seq - 1);
  const log = await run.readTask(run.task.id, reading.head);
  for (const event of log?.[1] ?? []) if (event.seq < seq) reading.add(event);
  readings.keep(reading);
  return log && reading;
}

function taskOf(reading: TaskReading): Task {
  return reading.toTask({ historyLength: undefined, includeArtifacts: true, asked: new Set() });
}

/** A task that an executor may change, while the reading stays as it is. A copy of plain text is made by reading it. */
function ownTask(reading: TaskReading): Task {
  const task = taskOf(reading);
  const { history, artifacts, status, metadata } = task;
  const wholes = [...history, ...artifacts, ...(status?.message ? [status.message] : [])];
  return metadata || wholes.some(holdsObjects) ? structuredClone(task) : task;
}

function holdsObjects({ metadata, parts }: WireMessage | WireArtifact): boolean {
  return (
    metadata !== undefined ||
    parts.some((part) => part.metadata !== undefined || part.content?.$case === 'data')
  );
}

/** Writes the events of an executor into the journal of its run, until one of them ends the run. */
class ExecutorEvents {
  readonly #run: Run;
  readonly #replaceAll: boolean;
  readonly #reading: TaskReading | undefined;
  #given: Task | undefined;
  readonly #begun = new Set<string>();
  readonly #closing = Promise.withResolvers<RunEnd>();
  /** Resolves with the first state that ends the run. Rejects with the first failure before it. */
  readonly end = this.#closing.promise;
  /** The newest status, when it asks for a credential: the end of the run unless the executor goes on. */
  #asksForAuth: (RunEnd & { readonly state: 'auth-required' }) | undefined;
  /** Writes that status, unless the executor returns at once. */
  #showAuth: NodeJS.Immediate | undefined;
  #hasWritten = false;
  #isClosed = false;

  /**
   * `replaceAll`: the first chunk of each artifact replaces what an interrupted run may have left of it. `reading`: of the
   * task that the executor was given, which many publish again before they go on.
   */
  constructor(
    run: Run,
    options: { readonly replaceAll: boolean; readonly reading: TaskReading | undefined },
  ) {
    this.#run = run;
    this.#replaceAll = options.replaceAll;
    this.#reading = options.reading;
  }

  take(event: AgentExecutionEvent): void {
    this.#attempt(() => {
      this.#flushAuth();
      this.#write(event);
    });
  }

  /** Never throws, since nobody could catch it: an event that cannot be read or written rejects `end`. */
  #attempt(write: () => void): void {
    if (this.#isClosed) return;
    try {
      write();
    } catch (error) {
      this.fail(error);
    }
  }

  /** Call it when the executor has returned. A run that it published no end of has failed. */
  endOfExecution(): void {
    const text = 'The agent stopped without a result.';
    this.#finish(this.#asksForAuth ?? { state: 'failed', reason: 'no-result', text });
  }

  fail(error: unknown): void {
    this.#isClosed = true;
    this.#closing.reject(error);
  }

  /** Events after this call are ignored. */
  close(): void {
    this.#isClosed = true;
    clearImmediate(this.#showAuth);
  }

  #flushAuth(): void {
    const shown = this.#showAuth && this.#asksForAuth;
    clearImmediate(this.#showAuth);
    this.#showAuth = undefined;
    if (shown) this.#emit({ type: 'status', ...shown });
  }

  #write(event: AgentExecutionEvent): void {
    switch (event.kind) {
      case 'message':
        return this.#message(event.data);
      case 'task':
        return this.#task(event.data);
      case 'statusUpdate':
        return this.#status(event.data.status, event.data.metadata);
      case 'artifactUpdate':
        return this.#artifact(event.data);
    }
  }

  /** A message is the whole output, and ends the run. As the first event it is the response in place of a task. */
  #message(message: WireMessage): void {
    const { parts, ...rest } = fromWireMessage(message);
    const { contextId, taskId } = message;
    const reply = this.#hasWritten ? {} : { reply: { ...rest, contextId, taskId } };
    const artifact = { id: OUTPUT_ARTIFACT_NAME, name: OUTPUT_ARTIFACT_NAME, parts };
    this.#emit({ type: 'artifact', artifact, append: false, ...reply });
    this.#finish({ state: 'completed' });
  }

  /** Writes those messages, artifacts and states of a published task that the log does not have yet. */
  #task({ history, artifacts, status, metadata }: Task): void {
    const given = (this.#given ??= this.#reading && taskOf(this.#reading));
    const known = new Set(this.#run.inputs.map(({ message }) => message.id));
    for (const { messageId } of given?.history ?? []) known.add(messageId);
    for (const message of history) {
      if (known.has(message.messageId) || message.messageId === status?.message?.messageId) continue;
      this.#emit({ type: 'status', state: 'working', message: fromWireMessage(message) });
    }
    for (const artifact of artifacts) {
      const isKnown = given?.artifacts.some((one) => isSame(one, artifact));
      if (!isKnown) this.#artifact({ artifact, append: false, lastChunk: false });
    }
    const hasNews = !isSame(metadata, given?.metadata);
    if (!given || hasNews || !isSame(status, given.status))
      this.#status(status, hasNews ? metadata : undefined);
    // A repeated task says that the executor has begun, which clients wait for.
    else if (!this.#hasWritten) this.#emit({ type: 'status', state: 'working' });
  }

  #artifact({ artifact: wire, append, lastChunk, metadata }: ArtifactChunk): void {
    if (!wire) return;
    const artifact = fromWireArtifact(wire);
    const isFirst = !this.#begun.has(artifact.id);
    this.#begun.add(artifact.id);
    this.#emit(
      (append && !isFirst && !lastChunk && !metadata && textDelta(artifact)) || {
        type: 'artifact',
        artifact,
        append: append && !(isFirst && this.#replaceAll),
        // As the executor said: more chunks may follow.
        lastChunk,
        ...(metadata ? { metadata } : {}),
      },
    );
  }

  #status(status: TaskStatus | undefined, metadata: JsonObject | undefined): void {
    const state = status && fromWireState(status.state);
    if (!state) return;
    const message = status.message && fromWireMessage(status.message);
    const said = { ...(message && { message }), ...(metadata && { metadata }) };
    this.#asksForAuth = state === 'auth-required' ? { state, ...said } : undefined;
    if (state === 'auth-required')
      this.#showAuth = setImmediate(() => this.#attempt(() => this.#flushAuth()));
    else if (state !== 'submitted' && state !== 'working') this.#finish({ ...endOf(state), ...said });
    else this.#emit({ type: 'status', state, ...said });
  }

  #emit(body: EventBody): void {
    this.#hasWritten = true;
    this.#run.emit(body);
  }

  #finish(end: RunEnd): void {
    this.#isClosed = true;
    this.#closing.resolve(end);
  }
}

type ArtifactChunk = Pick<TaskArtifactUpdateEvent, 'artifact' | 'append' | 'lastChunk'> &
  Partial<TaskArtifactUpdateEvent>;

/** A further chunk of plain text, which the journal joins with its neighbors; undefined for a chunk that says more. */
function textDelta({ id, name = '', parts, ...rest }: Artifact): EventBody | undefined {
  const [part] = parts;
  if (parts.length !== 1 || !part || !isPlainText(part) || Object.keys(rest).length > 0) return undefined;
  return { type: 'text-delta', artifactId: id, text: part.text, replace: false, lastChunk: false, name };
}

/** Only the journal ends a run as canceled, when a client asks for it; an executor that stops by itself has failed. */
function endOf(state: Exclude<TaskState, 'submitted' | 'working'>): RunEnd {
  if (state !== 'canceled') return { state };
  return { state: 'failed', reason: 'canceled', text: 'The agent canceled the task.' };
}

const isSame = (one: unknown, other: unknown): boolean =>
  one === other || JSON.stringify(one) === JSON.stringify(other);
