import { LangoError } from '../../core/errors.js';

const RETRY_AFTER_MS = 1_000;

/** How many streams a node has open at the same time, over all transports. */
export class StreamPlaces {
  readonly #limit: number;
  #open = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Does the work in a free place. Rejects with `too-many` when there is none. */
  async hold<T>(work: () => Promise<T>): Promise<T> {
    if (this.#open >= this.#limit) {
      throw new LangoError('too-many', 'this server has as many open streams as it takes', {
        retryable: true,
        retryAfterMs: RETRY_AFTER_MS,
      });
    }
    this.#open += 1;
    try {
      return await work();
    } finally {
      this.#open -= 1;
    }
  }
}
