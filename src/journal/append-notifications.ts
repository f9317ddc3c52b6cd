import type { TaskStore } from '../stores/tasks.js';

/** Tells subscribers of new events, and those who ask for it of live text. They read the journal themselves: a lost or repeated notification costs no event. */
export class AppendNotifications {
  readonly #store: Pick<TaskStore, 'heads' | 'pollMs'>;
  readonly #subscriptions = new Map<string, Set<AppendSubscription>>();
  /** The heads that the last poll found. */
  #heads = new Map<string, number>();
  #willPoll = false;

  constructor(store: Pick<TaskStore, 'heads' | 'pollMs'>) {
    this.#store = store;
  }

  notify(taskId: string): void {
    for (const subscription of this.#subscriptions.get(taskId) ?? []) subscription.wake();
  }

  /** Wakes those who watch the task for more than its events. */
  notifyLive(taskId: string): void {
    for (const subscription of this.#subscriptions.get(taskId) ?? []) subscription.wakeLive();
  }

  /** Subscribe before the first read of the journal, or an event appended between read and subscription is missed. */
  subscribe(
    taskId: string,
    { signal, isLive }: { readonly signal: AbortSignal; readonly isLive: boolean },
  ): AppendSubscription {
    const ofTask = this.#subscriptions.get(taskId) ?? new Set();
    this.#subscriptions.set(taskId, ofTask);
    this.#pollLater();
    const subscription = new AppendSubscription({ signal, isLive }, () => {
      ofTask.delete(subscription);
      if (ofTask.size === 0) this.#subscriptions.delete(taskId);
    });
    ofTask.add(subscription);
    return subscription;
  }

  /** One timer and one query serve all subscriptions: they find the appends of other processes without a notification. */
  #pollLater(): void {
    const { pollMs } = this.#store;
    if (pollMs === undefined || this.#willPoll || this.#subscriptions.size === 0) return;
    this.#willPoll = true;
    setTimeout(() => void this.#pollHeads(), pollMs).unref();
  }

  async #pollHeads(): Promise<void> {
    try {
      const heads = await this.#store.heads([...this.#subscriptions.keys()]);
      for (const { id, head } of heads) if (this.#heads.get(id) !== head) this.notify(id);
      this.#heads = new Map(heads.map(({ id, head }) => [id, head]));
    } catch {
      // The followers find out by themselves: their next read fails too.
      for (const taskId of this.#subscriptions.keys()) this.notify(taskId);
    }
    this.#willPoll = false;
    this.#pollLater();
  }
}

class AppendSubscription {
  #news = Promise.withResolvers<void>();
  readonly #signal: AbortSignal;
  readonly #isLive: boolean;
  readonly #onClose: () => void;
  #hasEvents = true;
  readonly wake = (): void => {
    this.#hasEvents = true;
    this.#news.resolve();
  };

  constructor(
    { signal, isLive }: { readonly signal: AbortSignal; readonly isLive: boolean },
    onClose: () => void,
  ) {
    this.#signal = signal;
    this.#isLive = isLive;
    this.#onClose = onClose;
    signal.addEventListener('abort', this.wake);
  }

  wakeLive(): void {
    if (this.#isLive) this.#news.resolve();
  }

  /** Whether the journal may have more events than at the last call. */
  takeEvents(): boolean {
    const has = this.#hasEvents;
    this.#hasEvents = false;
    return has;
  }

  /** Resolves at the next notification or poll, on abort, and at once when notified since the last call. */
  async next(): Promise<void> {
    if (!this.#signal.aborted) await this.#news.promise;
    this.#news = Promise.withResolvers();
  }

  close(): void {
    this.#signal.removeEventListener('abort', this.wake);
    this.#onClose();
  }
}
