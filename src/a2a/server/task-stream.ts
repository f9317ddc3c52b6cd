import type { Journal, Watched } from '../../core/journal.js';
import type { Message } from '../../core/message.js';
import { isTerminal, type TaskEvent } from '../../core/task.js';
import { EXTENSIONS } from '../../core/extensions.js';
import { isNews, keepAskedInEvent } from '../translate/asked.js';
import { toWireMessage, type MessageIds } from '../translate/content.js';
import { toStreamResponse, type NumberedResponse, type ShownEvent } from '../translate/events.js';
import { Changes, eventWithGeneration, wantsGeneration } from '../translate/generation.js';
import type { TaskView } from '../translate/task.js';
import { ShownText, type ShownTextOptions } from './shown-text.js';
import { readUpTo } from './task-reading.js';
import type { AuthorOf, TaskIds, TaskReading, WaitingTasks } from './task-reading.js';

/** The choices of a stream about what it shows. */
export interface StreamView<Shown> extends Pick<ShownTextOptions, 'showsWhole' | 'showsMessages'> {
  /** The task as it stood when the stream began. */
  readonly snapshot: (reading: TaskReading) => Shown;
  /** Undefined for an event that is not shown. What is shown without a number has no generation. */
  readonly event: (event: ShownEvent, contextId: string, generation?: number) => Shown | undefined;
  /** The message that an executor published in place of a task. */
  readonly reply: (message: Message, ids: MessageIds) => Shown;
  /** Whether `event` gets the true generation, which costs a reading of the task. */
  readonly isNumbered: boolean;
}

/** The choices for a client, or a receiver of push notifications, that asked for these extensions. */
export class WireView implements StreamView<NumberedResponse> {
  readonly isNumbered: boolean;
  readonly showsWhole = false;
  /** Others know of no message that grows. */
  readonly showsMessages: boolean;
  readonly #view: TaskView;
  readonly #authorOf: AuthorOf;

  constructor(view: TaskView, authorOf: AuthorOf) {
    this.isNumbered = wantsGeneration(view.asked);
    this.showsMessages = view.asked?.has(EXTENSIONS.author) ?? true;
    this.#view = view;
    this.#authorOf = authorOf;
  }

  snapshot(reading: TaskReading): NumberedResponse {
    return { payload: { $case: 'task', value: reading.toTask(this.#view) }, seq: reading.head };
  }

  reply(message: Message, ids: MessageIds): NumberedResponse {
    return { payload: { $case: 'message', value: toWireMessage(message, ids) } };
  }

  event(event: ShownEvent, contextId: string, generation?: number): NumberedResponse | undefined {
    const response = toStreamResponse(event, contextId, this.#authorOf(event));
    const payload = response && keepAskedInEvent(response, this.#view.asked);
    if (!payload) return undefined;
    if (this.isNumbered) return { payload: eventWithGeneration(payload, generation), seq: event.seq };
    return isNews(event, payload) ? { payload, seq: event.seq } : undefined;
  }
}

interface StreamStart<Shown> {
  readonly first?: Shown;
  /** Undefined when nothing follows. */
  readonly rest?: StreamRest<Shown>;
}

export interface StreamRest<Shown> {
  readonly task: TaskIds;
  /** The number of the last event that is not shown. */
  readonly after: number;
  readonly view: StreamView<Shown>;
  readonly signal: AbortSignal;
  readonly isLast: (event: TaskEvent) => boolean;
  /** Whether the caller saw an earlier stream of the task. */
  readonly isResumed?: boolean;
}

interface StreamSource {
  readonly journal: Journal;
  readonly waiting: Pick<WaitingTasks, 'forget'>;
  /** Reads the task as it stood after the event `head`. */
  readingAt(task: TaskIds, head: number): Promise<TaskReading>;
}

/**
 * The stream of one subscriber to a task, in one object, since thousands of them may wait for hours. Call `next` again once
 * it has settled.
 */
export class TaskStream<Shown> implements AsyncGenerator<Shown, void, undefined> {
  readonly #source: StreamSource;
  #open: (() => Promise<StreamStart<Shown>>) | undefined;
  #rest!: StreamRest<Shown>;
  #text: ShownText | undefined;
  readonly #changes = new Changes();
  #cursor = 0;
  #watched: AsyncIterator<Watched, void> | undefined;
  #ready: Shown[] = [];

  /** The first `next` calls `open`. */
  constructor(source: StreamSource, open: () => Promise<StreamStart<Shown>>) {
    this.#source = source;
    this.#open = open;
  }

  async next(): Promise<IteratorResult<Shown, void>> {
    try {
      if (this.#open) await this.#begin(this.#open);
      while (this.#ready.length === 0 && this.#watched) {
        const { value } = await this.#watched.next();
        const waiting = value && this.#take(value);
        if (waiting) await waiting;
        if (!value) this.#watched = undefined;
      }
    } catch (error) {
      return this.throw(error);
    }
    const value = this.#ready.shift();
    return value === undefined ? this.return() : { value };
  }

  async return(): Promise<IteratorReturnResult<void>> {
    this.#open = undefined;
    this.#ready = [];
    this.#close();
    return { done: true, value: undefined };
  }

  async throw(error: unknown): Promise<never> {
    await this.return();
    throw error;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async #begin(open: () => Promise<StreamStart<Shown>>): Promise<void> {
    this.#open = undefined;
    const { first, rest } = await open();
    if (first !== undefined) this.#ready.push(first);
    if (!rest) return;
    const { task, view, after, signal } = rest;
    const { journal } = this.#source;
    this.#rest = rest;
    if (view.isNumbered) await readUpTo(journal, this.#changes, { id: task.id, head: after });
    // Begins one event earlier, so that a client sees the same of an event wherever its stream begins.
    this.#cursor = view.isNumbered ? after : Math.max(0, after - 1);
    this.#watched = journal.watch(task.id, this.#cursor, signal);
  }

  /** A promise only where the journal must be read, or an event was: live text alone makes many small calls. */
  #take({ events, live }: Watched): Promise<void> | void {
    return events.length === 0 ? this.#takeLive(live) : this.#takeEvents(events, live);
  }

  async #takeEvents(events: Watched['events'], live: Watched['live']): Promise<void> {
    const { after, isLast } = this.#rest;
    for (const event of events) {
      const isShown = this.#changes.add(event);
      if (endsTask(event)) this.#source.waiting.forget(event.taskId);
      this.#cursor = event.seq;
      if (event.seq <= after) continue;
      if (isShown) {
        const ones = this.#textShown().event(event);
        this.#show(ones instanceof Promise ? await ones : ones);
      }
      if (isLast(event)) return this.#close();
    }
    await this.#takeLive(live);
  }

  #takeLive(live: Watched['live']): Promise<void> | void {
    if (live.length === 0 || this.#cursor < this.#rest.after) return;
    const ones = this.#textShown().live(live, this.#cursor);
    if (ones instanceof Promise) return ones.then((read) => this.#show(read));
    this.#show(ones);
  }

  /** Made with the first event: many streams wait for an approval that may never come. */
  #textShown(): ShownText {
    const { task, view, isResumed = false } = this.#rest;
    return (this.#text ??= new ShownText({
      ...view,
      taskId: task.id,
      isResumed,
      readingAt: (head) => this.#source.readingAt(task, head),
    }));
  }

  #show(ones: readonly ShownEvent[]): void {
    const { view, task } = this.#rest;
    for (const one of ones) {
      const generation = one.seq === undefined ? undefined : this.#changes.generation;
      const shown = view.event(one, task.contextId, generation);
      if (shown !== undefined) this.#ready.push(shown);
    }
  }

  #close(): void {
    void this.#watched?.return?.();
    this.#watched = undefined;
  }
}

export function endsTask({ body }: TaskEvent): boolean {
  return body.type === 'run-end' && isTerminal(body.state);
}
