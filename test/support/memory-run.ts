import type { Agent } from '../../src/core/agent.js';
import { LangoError } from '../../src/core/errors.js';
import { newId } from '../../src/core/ids.js';
import type { Logger } from '../../src/core/logger.js';
import { silentLogger } from '../../src/core/logger.js';
import type { Message } from '../../src/core/message.js';
import { textPart } from '../../src/core/message.js';
import type { RunEnd } from '../../src/core/run.js';
import type { Scrubber } from '../../src/core/secrets.js';
import { noScrubber } from '../../src/core/secrets.js';
import type { EventBody, Grant, NewEvent, TaskEvent, TaskRecord } from '../../src/core/task.js';
import { Replay } from '../../src/journal/replay.js';
import { runEndEvent } from '../../src/journal/run-work.js';
import { TaskRun, type TaskRunOptions } from '../../src/journal/task-run.js';
import { openSqliteStorage } from '../../src/storage/sqlite/storage.js';
import type { Fence, NewTask, TaskHead, TaskStore } from '../../src/stores/tasks.js';
import { taskOfNew } from '../../src/stores/tasks.js';

export interface MemoryTask {
  readonly id: string;
  readonly agent: string;
  readonly contextId: string;
  readonly parentTaskId: string | undefined;
  readonly grant: Grant;
  readonly logger: Logger;
  readonly scrubber: Scrubber;
  /** The log of an earlier task of the session. */
  readonly history: readonly TaskEvent[];
}

const WORKER = 'this process';
const SCOPE = { tenant: '', owner: 'owner' };

/** A run of the journal over a database in memory, with crashes on request. */
export class MemoryRun extends TaskRun {
  readonly #about: MemoryTask;
  readonly #log: MemoryLog;

  private constructor(about: MemoryTask, events: readonly TaskEvent[]) {
    const log = new MemoryLog(about, events);
    const replay = new Replay();
    for (const event of events) replay.add(event);
    const { task } = log;
    const { logger, scrubber } = about;
    super({
      ...{ task, store: log, replay, openLogger: () => logger, scrubber },
      ...{ worker: WORKER, eventsPerTask: 100_000 },
    });
    this.#about = about;
    this.#log = log;
  }

  /** A task with its first message and no run yet. */
  static of(agent: string, message: string | Message, about: Partial<MemoryTask> = {}): MemoryRun {
    const task: MemoryTask = {
      id: `task-of-${agent}`,
      agent,
      contextId: 'context',
      parentTaskId: undefined,
      grant: { chain: [], depth: 5 },
      logger: silentLogger,
      scrubber: noScrubber,
      history: [],
      ...about,
    };
    const body = { type: 'message', message: messageOf(message) } as const;
    return new MemoryRun(task, [{ taskId: task.id, seq: 1, at: Date.now(), author: 'user', body }]);
  }

  /** The whole log of the task as it is stored, including the events of this run. */
  get events(): readonly TaskEvent[] {
    return this.#log.events;
  }

  /** The task after a crash that left the first `count` events. Default: all events. */
  resumed(count = this.events.length): MemoryRun {
    return new MemoryRun(this.#about, this.events.slice(0, count));
  }

  /** The task after a further message of the person. */
  followedBy(message: string | Message): MemoryRun {
    return this.#after({ type: 'message', message: messageOf(message) });
  }

  /** The task after the time of all its questions was over. */
  afterExpiry(): MemoryRun {
    return this.#after({ type: 'question-expiry' }, Number.MAX_SAFE_INTEGER);
  }

  #after(body: EventBody, at = Date.now()): MemoryRun {
    const event = { taskId: this.task.id, seq: this.events.length + 1, at, author: 'user', body };
    return new MemoryRun(this.#about, [...this.events, event]);
  }

  override abort(reason = new LangoError('canceled', 'The task was canceled.')): void {
    super.abort(reason);
  }

  /** Gives the task to another process from now on: each append is refused. */
  fence(): void {
    this.#log.takeOver();
  }

  /** Runs `agent`, and closes the run as the journal does. */
  async perform(agent: Agent): Promise<RunEnd> {
    try {
      const end = await agent.run(this);
      await this.append(runEndEvent(this, end), end.author);
      return end;
    } finally {
      await this.settle();
    }
  }

  /** Calls `listener` for each event from now on, once it is stored. */
  onEvent(listener: (event: TaskEvent) => void): () => void {
    this.#log.listeners.add(listener);
    return () => this.#log.listeners.delete(listener);
  }

  /** The artifacts as a reader of the log sees them: texts by id, the newest version of each. */
  artifacts(): ReadonlyMap<string, string> {
    const artifacts = new Map<string, string>();
    for (const { body } of this.events) {
      if (body.type === 'text-delta') {
        const before = body.replace ? '' : (artifacts.get(body.artifactId) ?? '');
        artifacts.set(body.artifactId, before + body.text);
      }
      if (body.type === 'artifact') artifacts.set(body.artifact.id, JSON.stringify(body.artifact.parts));
    }
    return artifacts;
  }

  answer(): string | undefined {
    return this.artifacts().get('answer');
  }

  /** Bodies of one type, in order. */
  bodies<T extends EventBody['type']>(type: T): readonly Extract<EventBody, { type: T }>[] {
    return this.events.flatMap(({ body }) =>
      body.type === type ? [body as Extract<EventBody, { type: T }>] : [],
    );
  }
}

/** The log of one task in a database of its own. */
class MemoryLog implements Pick<TaskStore, keyof TaskRunOptions['store']> {
  readonly task: TaskRecord;
  readonly events: TaskEvent[];
  readonly listeners = new Set<(event: TaskEvent) => void>();
  readonly #store: TaskStore;
  #isStored: Promise<unknown>;

  constructor(about: MemoryTask, events: readonly TaskEvent[]) {
    const entry = newTask(about, about.id, events);
    this.task = taskOfNew(entry, Date.now());
    this.events = [...events];
    this.#store = openSqliteStorage({
      ...{ file: ':memory:', synchronous: 'normal', logger: silentLogger },
    }).tasks;
    this.#isStored = this.#fill(about, entry, events);
  }

  async #fill({ history, ...about }: MemoryTask, entry: NewTask, events: readonly TaskEvent[]) {
    const [first, ...rest] = history;
    if (first) {
      const earlier = newTask({ ...about, history }, first.taskId, history);
      await this.#store.accept(earlier, { worker: WORKER, firstEvents: rest });
    }
    await this.#store.accept(entry, { worker: WORKER, firstEvents: events.slice(1) });
  }

  takeOver(): void {
    const { id, agent } = this.task;
    this.#isStored = this.#isStored
      .then(() => this.#store.release(WORKER, id))
      .then(() => this.#store.claim('another process', [agent], () => 1));
  }

  async append(fence: Fence, events: readonly NewEvent[]): Promise<number> {
    await this.#isStored;
    const head = await this.#store.append(fence, events);
    const stored = await this.#store.read(fence.taskId, this.events.length, events.length);
    this.events.push(...stored);
    for (const event of stored) for (const listener of this.listeners) listener(event);
    return head;
  }

  async renew(): Promise<readonly TaskHead[]> {
    return [{ id: this.task.id, head: this.events.length }];
  }

  async retake(): Promise<undefined> {}

  async read(...asked: Parameters<TaskStore['read']>): Promise<readonly TaskEvent[]> {
    await this.#isStored;
    return this.#store.read(...asked);
  }

  async get(...asked: Parameters<TaskStore['get']>): ReturnType<TaskStore['get']> {
    await this.#isStored;
    return this.#store.get(...asked);
  }

  async readSession(...asked: Parameters<TaskStore['readSession']>): ReturnType<TaskStore['readSession']> {
    await this.#isStored;
    return this.#store.readSession(...asked);
  }
}

function newTask(
  { agent, contextId, parentTaskId, grant }: MemoryTask,
  id: string,
  events: readonly TaskEvent[],
): NewTask {
  const body = events[0]?.body;
  if (body?.type !== 'message') throw new Error('A log begins with a message.');
  const { message } = body;
  return { ...{ id, agent, contextId, parentTaskId, grant, message }, scope: SCOPE, isSame: () => true };
}

function messageOf(message: string | Message): Message {
  return typeof message === 'string' ? { id: newId(), role: 'user', parts: [textPart(message)] } : message;
}
