import { errorText } from '../core/errors.js';
import type { Logger } from '../core/logger.js';

/** The listeners of this process for new events. They get the events of a task, or the `seq` of its newest one. */
export class AppendListeners<News = number> {
  readonly #listeners = new Set<(taskId: string, news: News) => void>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Returns a function that removes the listener. */
  add(listener: (taskId: string, news: News) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** A listener that throws is logged. */
  notify(taskId: string, news: News): void {
    for (const listener of this.#listeners) {
      try {
        listener(taskId, news);
      } catch (error) {
        this.#logger.error('a listener for new events failed', { taskId, error: errorText(error) });
      }
    }
  }
}
