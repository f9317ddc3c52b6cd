/** Followers look by themselves this often, as hints of other replicas may get lost. */
const POLL_MS = 2_000;

/**
 * Wakes whoever waits for news of a task. A hint carries nothing but the task's id: the woken one
 * reads the journal, so a lost or doubled hint costs a look and never an event.
 */
export class Hints {
  readonly #watches = new Map<string, Set<Watch>>();
  #poll: NodeJS.Timeout | undefined;

  tell(taskId: string): void {
    for (const watch of this.#watches.get(taskId) ?? []) watch.wake();
  }

  /** Begin before the first look at the journal, so that nothing falls between look and wait. */
  watch(taskId: string, signal: AbortSignal): Watch {
    const watches = this.#watches.get(taskId) ?? new Set();
    this.#watches.set(taskId, watches);
    this.#poll ??= setInterval(() => this.#wakeAll(), POLL_MS).unref();
    const watch = new Watch(signal, () => {
      watches.delete(watch);
      if (watches.size === 0) this.#watches.delete(taskId);
    });
    watches.add(watch);
    return watch;
  }

  /** One timer for all: each of them having its own would cost more than the rest of a watch. */
  #wakeAll(): void {
    for (const taskId of this.#watches.keys()) this.tell(taskId);
    if (this.#watches.size > 0) return;
    clearInterval(this.#poll);
    this.#poll = undefined;
  }
}

export class Watch {
  #news = false;
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
    this.#news = true;
    this.#resolve?.();
  }

  /** Resolves at the next hint, at once when one came since the last wait, on abort, or at the slow poll. */
  async next(): Promise<void> {
    if (!this.#news && !this.#signal.aborted) {
      await new Promise<void>((resolve) => (this.#resolve = resolve));
      this.#resolve = undefined;
    }
    this.#news = false;
  }

  close(): void {
    this.#signal.removeEventListener('abort', this.#wake);
    this.#onClose();
  }
}
