/** Runs work one at a time per key, in the order of the calls; work under different keys runs side by side. */
export class KeyedMutex {
  /** By key, the promise that settles when the newest work under it is over. */
  readonly #newest = new Map<string, Promise<void>>();

  /** Calls `work` once all earlier work under `key` is over, however it ended, and settles as `work` does. */
  async run<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const result = this.#newest.get(key)?.then(work) ?? work();
    const settled = result.then(nothing, nothing);
    this.#newest.set(key, settled);
    try {
      return await result;
    } finally {
      if (this.#newest.get(key) === settled) this.#newest.delete(key);
    }
  }
}

function nothing(): void {}
