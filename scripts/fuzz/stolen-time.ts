const TICK_MS = 5;

/**
 * Time in which this process had something to do and the machine did not let it: the clock went on, the CPU time of the process did
 * not, and its timers came late. Rather less than it was: up to a tick of each pause may have been rest. A database in memory blocks
 * on nothing else.
 */
export class StolenTime implements Disposable {
  readonly #timer: NodeJS.Timeout;
  #ms = 0;
  #since = performance.now();
  #cpu = process.cpuUsage();

  constructor() {
    this.#timer = setInterval(() => this.#settle(), TICK_MS);
  }

  /** Since the beginning. */
  get ms(): number {
    return this.#ms + this.#running();
  }

  #settle(): void {
    this.#ms = this.ms;
    this.#since = performance.now();
    this.#cpu = process.cpuUsage();
  }

  #running(): number {
    const { user, system } = process.cpuUsage(this.#cpu);
    return Math.max(0, performance.now() - this.#since - (user + system) / 1_000 - TICK_MS);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
