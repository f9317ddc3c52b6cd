import { errorText } from '../../core/errors.js';
import type { Logger } from '../../core/logger.js';

type Listener = (taskId: string, head: number) => void;

/** The listeners of this process for new events, of this and of other processes. */
export class AppendListeners {
  readonly #listeners = new Set<Listener>();
  readonly #logger: Logger;
  /** Called for events of this process. */
  onOwn: Listener | undefined;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  add(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Notifies the listeners, and `onOwn`, of events that this process has committed. */
  announce(taskId: string, head: number): void {
    this.notify(taskId, head);
    this.onOwn?.(taskId, head);
  }

  /** Notifies the listeners of new events. A listener that throws is logged. */
  notify(taskId: string, head: number): void {
    for (const listener of this.#listeners) {
      try {
        listener(taskId, head);
      } catch (error) {
        this.#logger.error('a listener for new events failed', { taskId, error: errorText(error) });
      }
    }
  }
}
