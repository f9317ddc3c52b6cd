import type { Agent } from '../../src/core/agent.js';
import { LangoError } from '../../src/core/errors.js';
import { newId } from '../../src/core/ids.js';
import type { Logger } from '../../src/core/logger.js';
import { silentLogger } from '../../src/core/logger.js';
import type { Message, Part } from '../../src/core/message.js';
import { textPart } from '../../src/core/message.js';
import type { Usage } from '../../src/core/model.js';
import { NO_USAGE, addUsage } from '../../src/core/model.js';
import { AskedQuestions } from '../../src/journal/replay.js';
import type { AskedQuestion, RecordedStep, Run, RunEnd, RunInput } from '../../src/core/run.js';
import type { Scrubber } from '../../src/core/secrets.js';
import { noScrubber } from '../../src/core/secrets.js';
import type { EventBody, Grant, TaskEvent, TaskRecord } from '../../src/core/task.js';
import { isFromOutside } from '../../src/core/task.js';

export interface MemoryTask {
  readonly id: string;
  readonly agent: string;
  readonly contextId: string;
  readonly parentTaskId: string | undefined;
  readonly grant: Grant;
  readonly logger: Logger;
  readonly scrubber: Scrubber;
  /** Events of earlier tasks of the session. */
  readonly history: readonly TaskEvent[];
}

/** A run over an array of events: the journal's contract in memory, with crashes on request. */
export class MemoryRun implements Run {
  readonly task: TaskRecord;
  readonly grant: Grant;
  readonly attempt: number;
  readonly inputs: readonly RunInput[];
  readonly logger: Logger;
  readonly scrubber: Scrubber;
  /** The whole log of the task, including the events of this run. */
  readonly events: TaskEvent[];
  readonly room = 100_000;
  readonly #about: MemoryTask;
  readonly #past: ReadonlyMap<string, RecordedStep>;
  readonly #abort = new AbortController();
  #charged: Usage = NO_USAGE;
  #fenced = false;
  readonly #listeners = new Set<(event: TaskEvent) => void>();

  private constructor(about: MemoryTask, events: readonly TaskEvent[]) {
    this.#about = about;
    this.events = [...events];
    this.grant = about.grant;
    this.logger = about.logger;
    this.scrubber = about.scrubber;
    this.attempt = 1 + count(events, 'run-start');
    this.inputs = events.flatMap(({ seq, at, body }) =>
      body.type === 'message' ? [{ seq, at, message: body.message }] : [],
    );
    this.#past = stepsOf(events);
    this.task = {
      ...{ tenant: '', owner: 'owner', createdAt: 0, statusAt: 0, head: 0, epoch: 1, crashes: 0 },
      ...{ id: about.id, agent: about.agent, contextId: about.contextId, parentTaskId: about.parentTaskId },
      ...{ grant: about.grant, state: 'working', statusMessage: undefined },
    };
  }

  get questions(): ReadonlyMap<string, AskedQuestion> {
    return questionsOf(this.events);
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
    const run = new MemoryRun(task, []);
    run.#push({ type: 'message', message: messageOf(message) }, 'user');
    return new MemoryRun(task, run.events);
  }

  /** The task after a crash that left the first `count` events. Default: all events. */
  resumed(count = this.events.length): MemoryRun {
    return new MemoryRun(this.#about, this.events.slice(0, count));
  }

  /** The task after a further message of the person. */
  followedBy(message: string | Message): MemoryRun {
    const next = this.resumed();
    next.#push({ type: 'message', message: messageOf(message) }, 'user');
    return next.resumed();
  }

  /** The task after the time of all its questions was over. */
  afterExpiry(): MemoryRun {
    const next = this.resumed();
    next.#push({ type: 'question-expiry' }, 'user', Number.MAX_SAFE_INTEGER);
    return next.resumed();
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  abort(reason = new LangoError('canceled', 'The task was canceled.')): void {
    this.#abort.abort(reason);
  }

  /** Gives the task to another process from now on: each append is refused. */
  fence(): void {
    this.#fenced = true;
  }

  recorded(step: string): RecordedStep | undefined {
    return this.#past.get(step);
  }

  async history(limit: number): Promise<readonly TaskEvent[]> {
    return this.#about.history.slice(-limit);
  }

  async readTask(taskId: string): ReturnType<Run['readTask']> {
    return taskId === this.task.id ? [this.task, this.events] : undefined;
  }

  async append(body: EventBody, author = this.task.agent): Promise<void> {
    await Promise.resolve();
    if (this.#fenced) throw new LangoError('fenced', 'Another process took the task over.');
    this.#push(body, author);
  }

  emit(body: EventBody, author = this.task.agent): void {
    this.#push(body, author);
  }

  usage(): Usage {
    return this.events
      .flatMap(({ body }) => (body.type === 'turn-end' || body.type === 'delegation-end' ? [body.usage] : []))
      .reduce((sum, one) => addUsage(sum, one), this.#charged);
  }

  charge(usage: Usage): void {
    this.#charged = addUsage(this.#charged, usage);
  }

  hasReadOutside(): boolean {
    return this.grant.fromOutside === true || this.events.some(({ body }) => isFromOutside(body));
  }

  /** Runs `agent`, and closes the run as the journal does. */
  async perform(agent: Agent): Promise<RunEnd> {
    this.#push({ type: 'run-start', attempt: this.attempt }, this.task.agent);
    const end = await agent.run(this);
    const parts: Part[] = end.text === undefined ? [] : [textPart(end.text)];
    this.#push(
      {
        type: 'run-end',
        state: end.state,
        ...(end.reason === undefined ? {} : { reason: end.reason }),
        ...(parts.length === 0 ? {} : { message: { id: newId(), role: 'agent', parts } }),
        ...(end.questions === undefined ? {} : { questions: end.questions }),
        usage: this.usage(),
        fromOutside: this.hasReadOutside(),
      },
      this.task.agent,
    );
    return end;
  }

  /** Calls `listener` for each event from now on. */
  onEvent(listener: (event: TaskEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The artifacts as a reader of the log sees them: texts by id, the newest version of each. */
  artifacts(): ReadonlyMap<string, string> {
    return artifactsOf(this.events);
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

  #push(body: EventBody, author: string, at = 0): void {
    const event: TaskEvent = { taskId: this.#about.id, seq: this.events.length + 1, at, author, body };
    this.events.push(JSON.parse(JSON.stringify(event)) as TaskEvent);
    for (const listener of this.#listeners) listener(event);
  }
}

function messageOf(message: string | Message): Message {
  return typeof message === 'string' ? { id: newId(), role: 'user', parts: [textPart(message)] } : message;
}

function artifactsOf(events: readonly TaskEvent[]): ReadonlyMap<string, string> {
  const artifacts = new Map<string, string>();
  for (const { body } of events) {
    if (body.type === 'text-delta') {
      const before = body.replace ? '' : (artifacts.get(body.artifactId) ?? '');
      artifacts.set(body.artifactId, before + body.text);
    }
    if (body.type === 'artifact') artifacts.set(body.artifact.id, JSON.stringify(body.artifact.parts));
  }
  return artifacts;
}

function count(events: readonly TaskEvent[], type: EventBody['type']): number {
  return events.filter(({ body }) => body.type === type).length;
}

function questionsOf(events: readonly TaskEvent[]): ReadonlyMap<string, AskedQuestion> {
  const questions = new AskedQuestions();
  for (const event of events) questions.add(event);
  return questions.byHash;
}

function stepsOf(events: readonly TaskEvent[]): ReadonlyMap<string, RecordedStep> {
  const steps = new Map<string, RecordedStep>();
  const change = (step: string, fields: Partial<RecordedStep>) => {
    const known = steps.get(step);
    if (!known) throw new Error(`There is a result of step ${step} without its intent.`);
    steps.set(step, { ...known, ...fields });
  };
  for (const { body } of events) {
    switch (body.type) {
      case 'turn-start':
      case 'tool-call':
      case 'delegation-start':
        steps.set(body.step, { intent: body, result: undefined, childTaskId: undefined });
        break;
      case 'delegation-task':
        change(body.step, { childTaskId: body.taskId });
        break;
      case 'turn-end':
      case 'tool-result':
      case 'delegation-end':
        change(body.step, { result: body });
        break;
      default:
        break;
    }
  }
  return steps;
}
