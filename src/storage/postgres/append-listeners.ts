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

  /** Tells of events that this process has committed. */
  announce(taskId: string, head: number): void {
    this.tell(taskId, head);
    this.onOwn?.(taskId, head);
  }

  tell(taskId: string, head: number): void {
    for (const listener of this.#listeners) {
      try {
        listener(taskId, head);
      } catch (error) {
        this.#logger.error('a listener for new events failed', { taskId, error: errorText(error) });
      }
    }
  }
}
