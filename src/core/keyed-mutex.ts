import { ReleasingMap } from './releasing-map.js';

/** Runs work one at a time per key, in the order of the calls; work under different keys runs side by side. */
export class KeyedMutex {
  /** By key, the newest work under it. */
  readonly #newest = new ReleasingMap<string, Promise<unknown>>();

  /** Calls `work` once all earlier work under `key` is over, however it ended, and settles as `work` does. */
  run<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const result = this.#newest.get(key)?.then(work, work) ?? work();
    this.#newest.set(key, result);
    const end = (): void => {
      if (this.#newest.get(key) === result) this.#newest.delete(key);
    };
    result.then(end, end);
    return result;
  }
}
