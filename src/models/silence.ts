/**
 * Watches how long a server stays silent. `signal` aborts when the silence lasts too long or `outer` aborts,
 * and at the latest on disposal, so that nothing begun under it outlives it.
 */
export class SilenceWatch implements Disposable {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal;
  #limitMs: number;
  #timer: NodeJS.Timeout | undefined;
  #isBroken = false;

  /** Begins to wait at once. */
  constructor(outer: AbortSignal, limitMs: number) {
    this.#outer = outer;
    this.#limitMs = limitMs;
    outer.addEventListener('abort', this.#abort);
    if (outer.aborted) this.#abort();
    else this.wait();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Whether the server was silent for too long. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  /** From now on, silence may last `limitMs` only. */
  shorten(limitMs: number): void {
    this.#limitMs = Math.min(this.#limitMs, limitMs);
  }

  /** Something is expected from the server from now on. */
  wait(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#isBroken = true;
      this.#abort();
    }, this.#limitMs);
  }

  /** Something came, or nothing is expected: silence is fine until the next `wait`. */
  rest(): void {
    clearTimeout(this.#timer);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#outer.removeEventListener('abort', this.#abort);
    this.#abort();
  }

  readonly #abort = (): void => {
    this.#controller.abort();
  };
}
