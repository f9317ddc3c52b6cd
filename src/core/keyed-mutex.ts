import { ReleasingMap } from './releasing-map.js';

/** Runs work one at a time per key, in the order of the calls; work under different keys runs side by side. */
export class KeyedMutex {
  /** By key that is taken: those who wait for it. */
  readonly #taken = new ReleasingMap<string, (() => void)[] | 'alone'>();

  /** Calls `work` once all earlier work under `key` is over, however it ended, and settles as `work` does. */
  async run<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const turn = this.enter(key);
    if (turn) await turn;
    try {
      return await work();
    } finally {
      this.leave(key);
    }
  }

  /** Takes the key: at once if it is free, otherwise once the promise resolves. Call `leave` afterwards. */
  enter(key: string): Promise<void> | undefined {
    const waiting = this.#taken.get(key);
    if (Array.isArray(waiting)) return new Promise((resolve) => waiting.push(resolve));
    if (waiting) return new Promise((resolve) => this.#taken.set(key, [resolve]));
    this.#taken.set(key, 'alone');
    return undefined;
  }

  leave(key: string): void {
    const waiting = this.#taken.get(key);
    const next = Array.isArray(waiting) ? waiting.shift() : undefined;
    if (next) next();
    else this.#taken.delete(key);
  }
}
