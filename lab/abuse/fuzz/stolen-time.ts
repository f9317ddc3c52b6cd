const TICK_MS = 5;

/**
 * Measures the time in which the machine stopped this process although it had work: the clock advanced, the CPU time of
 * the process did not, and its timers were late. The result is rather too small, as up to one tick of each pause may
 * have been idle time. With a database in memory the process blocks on nothing else.
 */
export class StolenTime implements Disposable {
  readonly #timer: NodeJS.Timeout;
  #ms = 0;
  #since = performance.now();
  #cpu = process.cpuUsage();

  constructor() {
    this.#timer = setInterval(() => this.#settle(), TICK_MS);
  }

  /** Milliseconds since the start. */
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
