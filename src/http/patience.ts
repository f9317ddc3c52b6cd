import { LangoError } from '../core/errors.js';

/** A signal that follows the caller's, and aborts with `timeout` when what is expected does not come in time. */
export class Patience {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(outer: AbortSignal | undefined) {
    this.#outer = outer;
    if (outer?.aborted) this.#follow();
    else outer?.addEventListener('abort', this.#follow);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Starts to wait `ms` for something; replaces what was waited for. */
  expect(ms: number, message: string): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#controller.abort(new LangoError('timeout', message, { retryable: true }));
    }, ms).unref();
  }

  /** Something came: the same wait starts again. */
  renew(): void {
    this.#timer?.refresh();
  }

  /** Nothing is waited for any more. Repeats do nothing. */
  end(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener('abort', this.#follow);
  }

  readonly #follow = (): void => {
    this.#controller.abort(this.#outer?.reason);
  };
}
