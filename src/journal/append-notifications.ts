/** Interval of the fallback poll. Notifications from other replicas may get lost. */
const POLL_MS = 2_000;

/**
 * Tells subscribers that a task got new events. A notification carries the task id only, and the subscriber reads the
 * journal itself. So a lost or repeated notification costs one extra read, and never an event.
 */
export class AppendNotifications {
  readonly #subscriptions = new Map<string, Set<AppendSubscription>>();
  #poll: NodeJS.Timeout | undefined;

  notify(taskId: string): void {
    for (const subscription of this.#subscriptions.get(taskId) ?? []) subscription.wake();
  }

  /** Subscribe before the first read of the journal, or an event appended between read and subscription is missed. */
  subscribe(taskId: string, signal: AbortSignal): AppendSubscription {
    const ofTask = this.#subscriptions.get(taskId) ?? new Set();
    this.#subscriptions.set(taskId, ofTask);
    this.#poll ??= setInterval(() => this.#notifyAll(), POLL_MS).unref();
    const subscription = new AppendSubscription(signal, () => {
      ofTask.delete(subscription);
      if (ofTask.size === 0) this.#subscriptions.delete(taskId);
    });
    ofTask.add(subscription);
    return subscription;
  }

  /** One timer serves all subscriptions: a timer for each would cost more than everything else a subscription does. */
  #notifyAll(): void {
    for (const taskId of this.#subscriptions.keys()) this.notify(taskId);
    if (this.#subscriptions.size > 0) return;
    clearInterval(this.#poll);
    this.#poll = undefined;
  }
}

class AppendSubscription {
  #isNotified = false;
  #resolve: (() => void) | undefined;
  readonly #signal: AbortSignal;
  readonly #onClose: () => void;
  readonly #wake = () => this.wake();

  constructor(signal: AbortSignal, onClose: () => void) {
    this.#signal = signal;
    this.#onClose = onClose;
    signal.addEventListener('abort', this.#wake);
  }

  wake(): void {
    this.#isNotified = true;
    this.#resolve?.();
  }

  /** Resolves at the next notification or poll, on abort, and at once when notified since the last call. */
  async next(): Promise<void> {
    if (!this.#isNotified && !this.#signal.aborted) {
      await new Promise<void>((resolve) => (this.#resolve = resolve));
      this.#resolve = undefined;
    }
    this.#isNotified = false;
  }

  close(): void {
    this.#signal.removeEventListener('abort', this.#wake);
    this.#onClose();
  }
}
