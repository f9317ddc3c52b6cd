import { LangoError } from '../core/errors.js';
import type { Logger } from '../core/logger.js';
import type { Usage } from '../core/model.js';
import { addUsage } from '../core/model.js';
import type { AskedQuestion, RecordedStep, Run, RunInput } from '../core/run.js';
import type { Scrubber } from '../core/secrets.js';
import type { TaskStore } from '../core/store.js';
import type { EventBody, Grant, TaskEvent, TaskRecord } from '../core/task.js';
import { isFromOutside } from '../core/task.js';
import { CleanEvents } from './clean-events.js';
import type { Opening } from './opening.js';
import type { OpenDelegation } from './open-delegations.js';
import type { AppendReport } from './outbound.js';
import { Outbound } from './outbound.js';
import type { Replay } from './replay.js';

const LOOK_PAGE = 100;

/** After an abort, an agent that does not stop is left behind after this time. */
const STOP_GRACE_MS = 5_000;

/** One pass over a task, as the agent sees it: the past from the log, the present into the log. */
export class TaskRun implements Run {
  readonly task: TaskRecord;
  readonly grant: Grant;
  readonly attempt: number;
  readonly logger: Logger;
  readonly scrubber: Scrubber;
  #leaveBehind!: (end: undefined) => void;
  /** Resolves some time after the abort: an agent that ignores it cannot hold its task. */
  readonly leftBehind = new Promise<undefined>((resolve) => (this.#leaveBehind = resolve));
  readonly #clean: CleanEvents;
  readonly #store: TaskStore;
  readonly #replay: Replay;
  readonly #outbound: Outbound;
  readonly #abort = new AbortController();
  #abortReason: LangoError | undefined;
  readonly #author: string;
  /** Usage of this pass; what earlier ones used is in the replay. */
  #used: Usage | undefined;
  #hasReadOutside: boolean;
  /** The newest entry that was written by us or looked at. */
  #seen: number;
  /** The newest entry that we heard of. */
  #told = 0;
  #looking = false;

  constructor(options: TaskRunOptions) {
    const { task, store, replay, opening } = options;
    const fence = { taskId: task.id, epoch: task.epoch };
    this.task = task;
    this.grant = task.grant;
    this.attempt = replay.attempts + 1;
    this.logger = options.logger;
    this.scrubber = options.scrubber;
    this.#clean = new CleanEvents(options.scrubber);
    this.#store = store;
    this.#replay = replay;
    this.#author = task.agent;
    this.#seen = replay.head;
    this.#hasReadOutside = replay.hasReadOutside || task.grant.fromOutside === true;
    this.#outbound = new Outbound({
      append: (events) => (opening ? opening.append(events) : store.append(fence, events)),
      limit: options.eventsPerTask,
      head: replay.head,
      onAppended: (report) => this.#onAppended(report),
      onFailure: (error) => this.abort(error),
    });
    this.emit({ type: 'run-start', attempt: this.attempt });
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Why the agent's work was ended from outside; undefined while it was not. */
  get abortReason(): LangoError | undefined {
    return this.#abortReason;
  }

  get inputs(): readonly RunInput[] {
    return this.#replay.inputs;
  }

  get questions(): ReadonlyMap<string, AskedQuestion> {
    return this.#replay.questions;
  }

  recorded(step: string): RecordedStep | undefined {
    return this.#replay.step(step);
  }

  async history(limit: number, after?: string): Promise<readonly TaskEvent[]> {
    // It is the past of a task that the store knows.
    await this.#outbound.settle();
    return this.#store.readSession(this.task, limit, after);
  }

  append(body: EventBody, author = this.#author): Promise<void> {
    this.#note(body);
    const events = this.#clean.clean({ author, body });
    const last = events.at(-1);
    for (const event of events.slice(0, -1)) this.#outbound.emit(event);
    return last ? this.#outbound.append(last) : this.#outbound.settle();
  }

  emit(body: EventBody, author = this.#author): void {
    this.#note(body);
    for (const event of this.#clean.clean({ author, body })) this.#outbound.emit(event);
  }

  usage(): Usage {
    return this.#used ? addUsage(this.#replay.usage, this.#used) : this.#replay.usage;
  }

  hasReadOutside(): boolean {
    return this.#hasReadOutside;
  }

  /** The tasks of peers that are still open. */
  get openDelegations(): readonly OpenDelegation[] {
    return this.#replay.delegations.list();
  }

  /** Resolves once everything emitted is durable. */
  settle(): Promise<void> {
    return this.#outbound.settle();
  }

  /** Ends the agent's work; the first reason counts. */
  abort(reason: LangoError): void {
    if (this.#abortReason) return;
    this.#abortReason = reason;
    this.#abort.abort(reason);
    setTimeout(this.#leaveBehind, STOP_GRACE_MS, undefined).unref();
  }

  /** Reads what others appended up to `head`: a cancellation, another message. Later, when it is busy now. */
  look(head: number): void {
    this.#told = Math.max(this.#told, head);
    void this.#catchUp();
  }

  async #catchUp(): Promise<void> {
    if (this.#looking || this.#outbound.busy) return;
    this.#looking = true;
    try {
      while (this.#told > this.#seen) {
        const events = await this.#store.read(this.task.id, this.#seen, LOOK_PAGE);
        for (const event of events) this.#notice(event);
        if (events.length === 0) break;
      }
    } catch (error) {
      this.logger.warn('could not look for news of a task', { task: this.task.id, error });
    } finally {
      this.#looking = false;
    }
  }

  /** What we wrote needs no look; a hint that came meanwhile may tell of more. */
  #onAppended({ head, count }: AppendReport): void {
    if (head === this.#seen + count) this.#seen = head;
    this.look(head);
  }

  #notice(event: TaskEvent): void {
    this.#seen = Math.max(this.#seen, event.seq);
    if (event.body.type === 'cancel-request') this.abort(new LangoError('canceled', 'the task was canceled'));
    if (event.body.type === 'message' && !this.inputs.some(({ seq }) => seq === event.seq)) {
      this.#replay.inputs.push({ seq: event.seq, message: event.body.message });
    }
  }

  #note(body: EventBody): void {
    this.#replay.delegations.add(body);
    this.#hasReadOutside ||= isFromOutside(body);
    if (body.type !== 'turn-end' && body.type !== 'delegation-end') return;
    this.#used = this.#used ? addUsage(this.#used, body.usage) : body.usage;
  }
}

export interface TaskRunOptions {
  readonly task: TaskRecord;
  readonly store: TaskStore;
  readonly replay: Replay;
  /** Of a task that is not stored yet. */
  readonly opening?: Opening | undefined;
  readonly logger: Logger;
  readonly scrubber: Scrubber;
  /** The most entries the task may have. */
  readonly eventsPerTask: number;
}
