import process from 'node:process';

/** The most milliseconds of work that one input may cause on the thread of the event loop. */
export const LONGEST_WORK_MS = 100;
/**
 * The most milliseconds that it may block that thread without work. It is long, because a busy machine may give a
 * thread no time for a while.
 */
const LONGEST_SILENCE_MS = 1_000;
const TICK_MS = 5;

/** The longest times in which the event loop was blocked. */
export interface Hold {
  /** CPU time of its thread in milliseconds. Other threads, such as those of garbage collection, do not count. */
  readonly workMs: number;
  /** Elapsed milliseconds. They also show what blocks without CPU time, such as synchronous input and output. */
  readonly silentMs: number;
}

/** Measures how long the event loop of its own thread is blocked, for tests and scripts. */
export class Watchdog implements Disposable {
  readonly #timer = setInterval(() => this.#tick(), TICK_MS);
  #workMs = 0;
  #silentMs = 0;
  #lastWork = threadWorkMs();
  #lastTick = performance.now();

  /** The longest times since the last call, or since the start. */
  take(): Hold {
    this.#tick();
    const hold = { workMs: this.#workMs, silentMs: this.#silentMs };
    this.#workMs = 0;
    this.#silentMs = 0;
    return hold;
  }

  #tick(): void {
    const work = threadWorkMs();
    const now = performance.now();
    this.#workMs = Math.max(this.#workMs, work - this.#lastWork);
    this.#silentMs = Math.max(this.#silentMs, now - this.#lastTick - TICK_MS);
    this.#lastWork = work;
    this.#lastTick = now;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

function threadWorkMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/**
 * Whether an input must be run again: the first run also compiles code, and may collect the garbage of earlier inputs.
 */
export function isTooLong({ workMs, silentMs }: Hold, longestWorkMs = LONGEST_WORK_MS): boolean {
  return workMs > longestWorkMs || silentMs > LONGEST_SILENCE_MS;
}

/** Both runs of an input that blocked the loop too long, for a finding. */
export function describeHolds(first: Hold, again: Hold): string {
  const said = ({ workMs, silentMs }: Hold): string =>
    `${Math.round(workMs)} ms of work and ${Math.round(silentMs)} ms of silence`;
  return `the event loop was held for ${said(first)}, and again for ${said(again)}`;
}
