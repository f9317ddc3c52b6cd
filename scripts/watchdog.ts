import process from 'node:process';

/** One input may keep the thread of the event loop at work no longer. */
export const LONGEST_WORK_MS = 100;
/** Nor may it block that thread for longer without work. It is wide: a busy machine may give a thread nothing for a while. */
export const LONGEST_SILENCE_MS = 1_000;
const TICK_MS = 5;

/** The longest stretches in which the event loop answered nothing. */
export interface Hold {
  /** Time of the processor that its thread used; other threads, such as those of garbage collection, do not count. */
  readonly workMs: number;
  /** Time of the clock. It also shows what blocks without work, such as synchronous input and output. */
  readonly silentMs: number;
}

/** Watches the event loop of its own thread, for tests and for scripts alike. */
export class Watchdog implements Disposable {
  readonly #timer = setInterval(() => this.#tick(), TICK_MS);
  #workMs = 0;
  #silentMs = 0;
  #lastWork = threadWorkMs();
  #lastTick = performance.now();

  /** What was longest since the last call, or since the beginning. */
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

/** Whether an input is to be run again: the first time, code is compiled, and what came before may be collected. */
export function isTooLong({ workMs, silentMs }: Hold, longestWorkMs = LONGEST_WORK_MS): boolean {
  return workMs > longestWorkMs || silentMs > LONGEST_SILENCE_MS;
}

/** Both runs of an input that held the loop too long, for a finding. */
export function describeHolds(first: Hold, again: Hold): string {
  const said = ({ workMs, silentMs }: Hold): string =>
    `${Math.round(workMs)} ms of work and ${Math.round(silentMs)} ms of silence`;
  return `the event loop was held for ${said(first)}, and again for ${said(again)}`;
}
