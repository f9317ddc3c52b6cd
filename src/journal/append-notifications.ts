import type { TaskStore } from '../stores/tasks.js';

/** Tells subscribers of new events. They read the journal themselves: a lost or repeated notification costs no event. */
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

  /** Subscribe before the first read of the journal, or an event appended between read and subscription is missed. */
  subscribe(taskId: string, signal: AbortSignal): AppendSubscription {
    const ofTask = this.#subscriptions.get(taskId) ?? new Set();
    this.#subscriptions.set(taskId, ofTask);
    this.#pollLater();
    const subscription = new AppendSubscription(signal, () => {
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
  readonly #onClose: () => void;
  readonly wake = (): void => this.#news.resolve();

  constructor(signal: AbortSignal, onClose: () => void) {
    this.#signal = signal;
    this.#onClose = onClose;
    signal.addEventListener('abort', this.wake);
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
