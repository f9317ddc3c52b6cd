import { LangoError } from '../core/errors.js';
import type { Logger } from '../core/logger.js';
import { addUsage, type Usage } from '../core/model.js';
import type { AskedQuestion, RecordedStep, Run, RunInput } from '../core/run.js';
import type { Scrubber } from '../core/secrets.js';
import { LEASE_MS, type Fence, type TaskStore } from '../stores/tasks.js';
import { isFromOutside, type Clearing, type EventBody, type Grant, type LiveText } from '../core/task.js';
import type { NewEvent, TaskEvent, TaskRecord, TextDelta } from '../core/task.js';
import type { Variation } from '../core/fork.js';
import { Timer } from '../core/time.js';
import { EventWriter } from './event-writer.js';
import { RunAppends, type RunAppendsOptions } from './run-appends.js';
import type { TaskDisk } from './task-disk.js';
import { inputOf, type OpenDelegation, type Replay } from './replay.js';

const READ_PAGE = 100;

const STEP_STARTS: ReadonlySet<EventBody['type']> = new Set(['turn-start', 'tool-call', 'delegation-start']);
/** The time that a run which leaves may go on after its last result, which may have been the answer. */
const LEAVE_GRACE_MS = 50;

export interface TaskRunOptions extends RunAppendsOptions {
  readonly task: TaskRecord;
  readonly store: RunAppendsOptions['store'] & Pick<TaskStore, 'get' | 'readSession'>;
  /** Limits what the tasks of an owner take. Default: nothing does. */
  readonly disk?: TaskDisk | undefined;
  /** Opens the logger, when something is to be logged. */
  readonly openLogger: () => Logger;
  readonly scrubber: Scrubber;
  /** The most events the task may have. */
  readonly eventsPerTask: number;
  /** Called when `liveText` returns more. */
  readonly onLiveText?: () => void;
}

/** One pass over a task, as its agent sees it: reads the past from the journal, and writes the present to it. */
export class TaskRun implements Run {
  readonly task: TaskRecord;
  readonly grant: Grant;
  readonly attempt: number;
  readonly scrubber: Scrubber;
  readonly #options: TaskRunOptions;
  #logger: Logger | undefined;
  readonly #replay: Replay;
  readonly #appends: RunAppends;
  readonly #writer: EventWriter;
  /** Made when first needed, as most runs are over before anything asks for their signal. */
  #abort: AbortController | undefined;
  #abortReason: LangoError | undefined;
  /** Called at an abort. */
  #onAbort: (() => void) | undefined;
  /** Why the run has to end soon. */
  #leaving: LangoError | undefined;
  #refusesStep = false;
  /** The answers and calls that have no result yet, without delegations: the next run continues those. */
  #open: Set<string> | undefined;
  /** Usage of this pass. The replay has the usage of earlier passes. */
  #used: Usage | undefined;
  #hasReadOutside: boolean;
  /** The number of the newest event that this run wrote or read. */
  #seen: number;
  /** The number of the newest event that this run was notified of. */
  #notified = 0;
  #reading = false;

  constructor(options: TaskRunOptions) {
    const { task, replay, disk } = options;
    this.#options = options;
    this.task = task;
    this.grant = task.grant;
    this.attempt = replay.attempts + 1;
    this.scrubber = options.scrubber;
    this.#replay = replay;
    this.#seen = replay.head;
    this.#hasReadOutside = replay.hasReadOutside || task.grant.fromOutside === true;
    this.#appends = new RunAppends(this, options);
    const append = (events: readonly NewEvent[]): Promise<number> => this.#appends.append(events);
    this.#writer = new EventWriter({
      append: disk ? (events) => disk.append(task, events, append) : append,
      scrubber: options.scrubber,
      limit: options.eventsPerTask,
      head: replay.head,
      artifacts: replay.artifacts,
      onAppended: (head, count) => {
        // Events that this run wrote need no read, unless somebody else appended in between.
        if (head === this.#seen + count) this.#seen = head;
        this.notify(head);
      },
      onFailure: (error) => this.abort(error),
      onLiveText: options.onLiveText ?? (() => {}),
    });
    this.emit({ type: 'run-start', attempt: this.attempt });
    if (replay.cancelRequested) this.#cancel();
  }

  get logger(): Logger {
    return (this.#logger ??= this.#options.openLogger());
  }

  get signal(): AbortSignal {
    if (!this.#abort) {
      this.#abort = new AbortController();
      if (this.#abortReason) this.#abort.abort(this.#abortReason);
    }
    return this.#abort.signal;
  }

  /** Why the run was aborted; undefined when it was not. */
  get abortReason(): LangoError | undefined {
    return this.#abortReason ?? (this.#refusesStep ? this.#leaving : undefined);
  }

  get inputs(): readonly RunInput[] {
    return this.#replay.inputs;
  }

  get questions(): ReadonlyMap<string, AskedQuestion> {
    return this.#replay.questions;
  }

  get variation(): Variation | undefined {
    return this.#replay.variation;
  }

  recorded(step: string): RecordedStep | undefined {
    return this.#replay.step(step);
  }

  clearings(step: string): readonly Clearing[] {
    return this.#replay.clearings(step);
  }

  async history(limit: number, after?: string): Promise<readonly TaskEvent[]> {
    // A new task must be stored first: the store finds the history by the task's row.
    await this.#writer.settle();
    return this.#options.store.readSession(this.task, limit, { after });
  }

  async readTask(taskId: string, after = 0): ReturnType<Run['readTask']> {
    await this.#writer.settle();
    const { store } = this.#options;
    const task = await store.get(this.task, taskId);
    if (task?.agent !== this.task.agent) return undefined;
    const events: TaskEvent[] = [];
    for (let seq = after; seq < task.head; seq += READ_PAGE)
      events.push(...(await store.read(taskId, seq, READ_PAGE)));
    return [task, events];
  }

  async append(body: EventBody, author = this.task.agent): Promise<void> {
    this.#note(body);
    const begun = performance.now();
    await this.#writer.append({ author, body });
    if (body.type !== 'tool-call' || performance.now() - begun < LEASE_MS) return;
    // A process that was paused this long may have lost the task, and another one may have settled the call.
    const { store, worker } = this.#options;
    if ((await store.renew(worker, [this.task.id])).length > 0) return;
    this.abort(new LangoError('fenced', 'Another process took the task over.'));
    throw this.#abortReason!;
  }

  emit(body: EventBody, author = this.task.agent): void {
    this.#note(body);
    this.#writer.emit({ author, body });
  }

  preview(body: TextDelta, author = this.task.agent): void {
    this.#writer.preview({ author, body });
  }

  /** The text that directly follows the event `after`, and is not durable yet. */
  liveText(after: number): readonly LiveText[] {
    return this.#writer.liveText(after);
  }

  get room(): number {
    return this.#writer.room;
  }

  usage(): Usage {
    return this.#used ? addUsage(this.#replay.usage, this.#used) : this.#replay.usage;
  }

  charge(usage: Usage): void {
    this.#used = this.#used ? addUsage(this.#used, usage) : usage;
  }

  hasReadOutside(): boolean {
    return this.#hasReadOutside;
  }

  /** The fence that an append to the task needs now. */
  get appendFence(): Fence {
    return this.#appends.fence;
  }

  /** The tasks of peers that have not ended. */
  get openDelegations(): readonly OpenDelegation[] {
    return this.#replay.delegations.list();
  }

  /** Resolves once everything emitted is durable. */
  settle(): Promise<void> {
    return this.#writer.settle();
  }

  /** Aborts the agent's work and its tools. Only the first reason counts. */
  abort(reason: LangoError): void {
    if (this.#abortReason) return;
    this.#abortReason = reason;
    this.#abort?.abort(reason);
    this.#onAbort?.();
  }

  /** Settles as the agent's work does, or rejects with the reason of an abort `graceMs` after it. The work itself goes on. */
  untilAborted<Result>(work: Promise<Result>, graceMs: number): Promise<Result> {
    return new Promise((resolve, reject) => {
      let grace: Timer | undefined;
      const giveUp = (): void => reject(this.#abortReason!);
      const onAbort = (): void => void (grace = new Timer(graceMs, giveUp, { ref: false }));
      const settle =
        <Value>(settled: (value: Value) => void) =>
        (value: Value): void => {
          this.#onAbort = undefined;
          grace?.cancel();
          settled(value);
        };
      if (this.#abortReason) onAbort();
      else this.#onAbort = onAbort;
      work.then(settle(resolve), settle(reject));
    });
  }

  /** Lets the answers and calls under way come to their results, and begins no further step. */
  leave(reason: LangoError): void {
    this.#leaving = reason;
    if (!this.#open?.size) this.abort(reason);
  }

  /** Reads what others appended up to `head` (a cancel request, a message): now, or after the append under way. */
  notify(head: number): void {
    this.#notified = Math.max(this.#notified, head);
    if (this.#notified > this.#seen && !this.#reading && !this.#writer.busy) void this.#readNew();
  }

  async #readNew(): Promise<void> {
    this.#reading = true;
    try {
      while (this.#notified > this.#seen) {
        const events = await this.#options.store.read(this.task.id, this.#seen, READ_PAGE);
        for (const event of events) this.#onEvent(event);
        if (events.length === 0) break;
      }
    } catch (error) {
      this.logger.warn('the new events of a task could not be read', { task: this.task.id, error });
    } finally {
      this.#reading = false;
    }
  }

  #onEvent(event: TaskEvent): void {
    this.#seen = Math.max(this.#seen, event.seq);
    if (event.body.type === 'cancel-request') this.#cancel();
    if (event.body.type === 'message' && !this.inputs.some(({ seq }) => seq === event.seq))
      this.#replay.inputs.push(inputOf(event, event.body));
  }

  #cancel(): void {
    this.abort(new LangoError('canceled', 'The task was canceled.'));
  }

  /** Tracks the steps that are under way, and what they do. Throws for a step that must not begin any more. */
  #note(body: EventBody): void {
    const leaving = this.#leaving;
    if (leaving && STEP_STARTS.has(body.type)) {
      this.#refusesStep = true;
      throw leaving;
    }
    if (body.type === 'turn-start' || body.type === 'tool-call') (this.#open ??= new Set()).add(body.step);
    if (body.type === 'turn-end' || body.type === 'tool-result') {
      this.#open?.delete(body.step);
      if (leaving) setTimeout(() => this.leave(leaving), LEAVE_GRACE_MS).unref();
    }
    this.#replay.delegations.add(body);
    if (body.type === 'question') this.#replay.noteQuestion(body.question);
    this.#hasReadOutside ||= isFromOutside(body);
    if (body.type === 'turn-end' || body.type === 'delegation-end') this.charge(body.usage);
  }
}
