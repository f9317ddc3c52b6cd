import type { Watched } from '../core/journal.js';
import { isTerminal, type LiveText, type TaskEvent } from '../core/task.js';
import type { TaskStore } from '../stores/tasks.js';

/** Live text is shown this soon, and text that follows at once on shown text, which is most of it, with that of all tasks. */
const LIVE_SOON_MS = 5;
const LIVE_TOGETHER_MS = 50;
/** More subscriptions than this are a crowd, whose text is shown less often: each write costs as much as all that led to it. */
const CROWD = 25;
const LIVE_CROWD_MS = 100;
/** The number of events that a subscription reads at once. */
const PAGE = 256;

interface NotificationsOptions {
  readonly store: Pick<TaskStore, 'heads' | 'pollMs' | 'read'>;
  /** The text that directly follows the event `after`, of a run of this process. */
  readonly liveText: (taskId: string, after: number) => readonly LiveText[];
}

interface Subscribed {
  readonly taskId: string;
  readonly after: number;
  readonly signal: AbortSignal;
  /** Whether live text is wanted besides the events. */
  readonly isLive: boolean;
}

/** Tells subscribers of new events, and those who ask for it of live text. They read the journal themselves: a lost or repeated notification costs no event. */
export class AppendNotifications {
  readonly #options: NotificationsOptions;
  readonly #source: Source;
  readonly #subscriptions = new Map<string, Set<Subscription>>();
  #willPoll = false;
  /** The subscriptions to tasks with new live text. */
  readonly #soon = new Unshown(LIVE_SOON_MS);
  readonly #together = new Unshown(LIVE_TOGETHER_MS, LIVE_CROWD_MS);

  constructor(options: NotificationsOptions) {
    this.#options = options;
    this.#source = { ...options, remove: (...subscribed) => this.#remove(...subscribed) };
  }

  /** Wakes those who have not read up to the head of the task. */
  notify(taskId: string, head = Infinity): void {
    for (const subscription of this.#subscriptions.get(taskId) ?? []) subscription.wake(head);
  }

  /** Wakes those who watch the task for more than its events, soon and together with those of other tasks. */
  notifyLive(taskId: string): void {
    const subscriptions = this.#subscriptions.get(taskId);
    if (!subscriptions) return;
    const shownBefore = performance.now() - LIVE_TOGETHER_MS;
    for (const subscription of subscriptions) {
      if (!subscription.isLive || this.#together.has(subscription)) continue;
      (subscription.shownAt < shownBefore ? this.#soon : this.#together).add(subscription);
    }
  }

  /** Call `return` of a subscription that is not read to its end. */
  subscribe(subscribed: Subscribed): AsyncIterableIterator<Watched, undefined> {
    const { taskId } = subscribed;
    const subscription = new Subscription(subscribed, this.#source);
    this.#subscriptions.set(taskId, (this.#subscriptions.get(taskId) ?? new Set()).add(subscription));
    this.#pollLater();
    return subscription;
  }

  #remove(taskId: string, subscription: Subscription): void {
    const ofTask = this.#subscriptions.get(taskId);
    ofTask?.delete(subscription);
    if (ofTask?.size === 0) this.#subscriptions.delete(taskId);
    this.#soon.delete(subscription);
    this.#together.delete(subscription);
  }

  /** One timer and one query serve all subscriptions: they find the appends of other processes without a notification. */
  #pollLater(): void {
    const { pollMs } = this.#options.store;
    if (pollMs === undefined || this.#willPoll || this.#subscriptions.size === 0) return;
    this.#willPoll = true;
    setTimeout(() => void this.#pollHeads(), pollMs).unref();
  }

  async #pollHeads(): Promise<void> {
    try {
      const heads = await this.#options.store.heads([...this.#subscriptions.keys()]);
      for (const { id, head } of heads) this.notify(id, head);
    } catch {
      // The followers find out by themselves: their next read fails too.
      for (const taskId of this.#subscriptions.keys()) this.notify(taskId);
    }
    this.#willPoll = false;
    this.#pollLater();
  }
}

/** Subscriptions that are woken together, by one timer: the writes of many streams cost less in one turn of the event loop. */
class Unshown {
  readonly #fewMs: number;
  readonly #crowdMs: number;
  #subscriptions = new Set<Subscription>();
  #willWake = false;
  /** The pause between two wakings, by the size of the last one. */
  #eachMs: number;

  constructor(fewMs: number, crowdMs = fewMs) {
    this.#fewMs = fewMs;
    this.#crowdMs = crowdMs;
    this.#eachMs = fewMs;
  }

  has(subscription: Subscription): boolean {
    return this.#subscriptions.has(subscription);
  }

  add(subscription: Subscription): void {
    this.#subscriptions.add(subscription);
    if (this.#willWake) return;
    this.#willWake = true;
    setTimeout(() => this.#wake(), this.#eachMs - (performance.now() % this.#eachMs));
  }

  delete(subscription: Subscription): void {
    this.#subscriptions.delete(subscription);
  }

  #wake(): void {
    this.#willWake = false;
    const subscriptions = this.#subscriptions;
    this.#subscriptions = new Set();
    this.#eachMs = subscriptions.size > CROWD ? this.#crowdMs : this.#fewMs;
    const now = performance.now();
    for (const subscription of subscriptions) subscription.wakeLive(now);
  }
}

/** Shared by all subscriptions, of which there may be thousands. */
interface Source extends NotificationsOptions {
  readonly remove: (taskId: string, subscription: Subscription) => void;
}

type Result = IteratorResult<Watched, undefined>;

/** Reads the events of a task from the journal alone, so that all subscribers see the same. It ends after the terminal event or an abort. */
class Subscription implements AsyncIterableIterator<Watched, undefined> {
  readonly #taskId: string;
  readonly #signal: AbortSignal;
  readonly #source: Source;
  readonly isLive: boolean;
  #cursor: number;
  /** The time at which it was woken for live text. */
  shownAt = -Infinity;
  #hasEvents = true;
  #isAwake = true;
  #isOpen = true;
  #isServing = false;
  #settle: ((result: Result | Promise<Result>) => void) | undefined;

  constructor({ taskId, after, signal, isLive }: Subscribed, source: Source) {
    this.#taskId = taskId;
    this.#signal = signal;
    this.#source = source;
    this.isLive = isLive;
    this.#cursor = after;
    signal.addEventListener('abort', this.#resume);
  }

  /** Call it when the journal has events up to `head`. */
  wake(head: number): void {
    if (head <= this.#cursor) return;
    this.#hasEvents = true;
    this.#resume();
  }

  wakeLive(now: number): void {
    this.shownAt = now;
    this.#resume();
  }

  /** Call it again once it has settled. No function is suspended while it waits: thousands of subscriptions may. */
  next(): Promise<Result> {
    return new Promise((resolve) => {
      this.#settle = resolve;
      if (this.#isAwake || this.#hasEnded) this.#serve();
    });
  }

  /** Settles the pending call of `next` once there is something for it: at once, where it is live text alone. */
  #serve(): void {
    if (this.#isServing) return;
    if (this.#hasEvents || this.#hasEnded) return void this.#read();
    this.#isAwake = false;
    try {
      const value = this.#advance([]);
      if (value) this.#answer({ value });
    } catch (error) {
      this.#answer(this.#fail(error));
    }
  }

  async #read(): Promise<void> {
    this.#isServing = true;
    let result: Result | Promise<Result> | undefined;
    try {
      while (this.#isAwake && !this.#hasEnded && !result) {
        this.#isAwake = false;
        const hasEvents = this.#hasEvents;
        this.#hasEvents = false;
        const events = hasEvents ? await this.#source.store.read(this.#taskId, this.#cursor, PAGE) : [];
        const value = this.#advance(events);
        if (value) result = { value };
      }
      if (this.#hasEnded) result ??= this.return();
    } catch (error) {
      result = this.#fail(error);
    }
    this.#isServing = false;
    if (result) this.#answer(result);
  }

  #answer(result: Result | Promise<Result>): void {
    const settle = this.#settle;
    this.#settle = undefined;
    settle?.(result);
  }

  async #fail(error: unknown): Promise<never> {
    this.#close();
    throw error;
  }

  get #hasEnded(): boolean {
    return !this.#isOpen || this.#signal.aborted;
  }

  async return(): Promise<{ readonly done: true; readonly value: undefined }> {
    this.#close();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  readonly #resume = (): void => {
    this.#isAwake = true;
    if (this.#settle) this.#serve();
  };

  /** Moves on to the newest of the events, and adds the live text that follows it. */
  #advance(events: readonly TaskEvent[]): Watched | undefined {
    const last = events.at(-1);
    this.#cursor = last?.seq ?? this.#cursor;
    const isPage = events.length === PAGE;
    if (isPage) this.wake(Infinity);
    const live = this.isLive && !isPage ? this.#source.liveText(this.#taskId, this.#cursor) : [];
    if (last?.body.type === 'run-end' && isTerminal(last.body.state)) this.#close();
    return last || live.length > 0 ? { events, live } : undefined;
  }

  #close(): void {
    this.#isOpen = false;
    this.#signal.removeEventListener('abort', this.#resume);
    this.#source.remove(this.#taskId, this);
  }
}
