import { setTimeout as delay } from 'node:timers/promises';
import { LangoError } from './errors.js';
import { Box, BoxList } from './releasing-map.js';

/** The longest time that `setTimeout` can wait; with a longer one it fires at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

interface TimerOptions {
  /** False lets the process end while the timer runs. Default: true. */
  readonly ref?: boolean | undefined;
}

/** Calls a function once after `ms`, however long that is, and never after `Infinity`. Disposal cancels it. */
export class Timer implements Disposable {
  readonly #timeout: NodeJS.Timeout;
  /** A long time is waited in equal steps. */
  readonly #steps: number;
  #stepsLeft: number;

  constructor(ms: number, call: () => void, { ref = true }: TimerOptions = {}) {
    this.#steps = this.#stepsLeft = Math.max(1, Math.ceil(ms / LONGEST_TIMER_MS));
    const step = (): void => {
      this.#stepsLeft -= 1;
      if (this.#stepsLeft > 0) this.#timeout.refresh();
      else call();
    };
    this.#timeout = setTimeout(step, ms === Infinity ? LONGEST_TIMER_MS : ms / this.#steps);
    if (!ref) this.#timeout.unref();
  }

  /** Starts the whole time again. Does nothing once it is over or was cancelled. */
  renew(): void {
    if (this.#stepsLeft <= 0) return;
    this.#stepsLeft = this.#steps;
    this.#timeout.refresh();
  }

  cancel(): void {
    this.#stepsLeft = 0;
    clearTimeout(this.#timeout);
  }

  [Symbol.dispose](): void {
    this.cancel();
  }
}

/** Emptied once it is called or cancelled. Disposal cancels it. */
class Alarm extends Box<() => void> implements Disposable {
  /** By `performance.now()`. */
  readonly at: number;
  readonly #alarms: BoxList<Alarm>;

  constructor(at: number, call: () => void, alarms: BoxList<Alarm>) {
    super(call);
    this.at = at;
    this.#alarms = alarms;
    alarms.add(this);
  }

  [Symbol.dispose](): void {
    this.#alarms.empty(this);
  }
}

/** Waits for many times that are seldom reached, such as the ends of time limits, with one timer that lets the process end. */
export class AlarmClock {
  readonly #alarms = new BoxList<Alarm>();
  #timer: Timer | undefined;
  /** When the timer ends. */
  #next = Infinity;

  /**
   * Calls a function once after `ms`, and never after `Infinity`. Disposal cancels it. With `eachMs` it is called up to that
   * much earlier, in one turn of the event loop with others.
   */
  after(ms: number, call: () => void, eachMs = 0): Disposable {
    const end = performance.now() + ms;
    const alarm = new Alarm(eachMs > 0 ? end - (end % eachMs) : end, call, this.#alarms);
    if (alarm.at < this.#next) this.#wakeAt(alarm.at);
    return alarm;
  }

  #wakeAt(at: number): void {
    this.#timer?.cancel();
    this.#next = at;
    this.#timer = new Timer(Math.max(0, at - performance.now()), () => this.#ring(), { ref: false });
  }

  #ring(): void {
    this.#next = Infinity;
    const now = performance.now();
    const due = [...this.#alarms].filter(({ at }) => at <= now);
    const calls = due.map((alarm) => this.#alarms.empty(alarm));
    const next = [...this.#alarms].reduce((first, { at }) => Math.min(first, at), Infinity);
    if (next < Infinity) this.#wakeAt(next);
    for (const call of calls) call?.();
  }
}

/** The functions for the next turn. */
let calls: Box<() => void>[] = [];

/**
 * Calls a function in the next turn of the event loop, after those that were given earlier in this one. They share an
 * immediate, so that many requests take each step together, while its code is in the processor's cache. The function must
 * not throw. Empty the box to cancel it.
 */
export function inNextTurn(call: () => void): Box<() => void> {
  if (calls.length === 0) setImmediate(callAll);
  const box = new Box(call);
  calls.push(box);
  return box;
}

let turn: Promise<void> | undefined;

/** Resolves in the next turn of the event loop, for all that ask in this one: `inNextTurn` without a way to cancel it. */
export function nextTurn(): Promise<void> {
  return (turn ??= new Promise((resolve) => {
    inNextTurn(() => {
      turn = undefined;
      resolve();
    });
  }));
}

function callAll(): void {
  const due = calls;
  calls = [];
  for (const { value: call } of due) call?.();
}

interface PauseOptions extends TimerOptions {
  /** Ends the pause when it aborts. */
  readonly signal?: AbortSignal | undefined;
}

/** Resolves with true after `ms`, or with false as soon as the signal aborts. Never rejects. */
export async function pause(ms: number, { signal, ref }: PauseOptions = {}): Promise<boolean> {
  for (let leftMs = ms; ; leftMs -= LONGEST_TIMER_MS) {
    const stepMs = Math.max(0, Math.min(leftMs, LONGEST_TIMER_MS));
    const isWhole = await delay(stepMs, true, { signal, ref }).catch(() => false);
    if (!isWhole || leftMs <= LONGEST_TIMER_MS) return isWhole;
  }
}

/** Settles as `work` does, or resolves with undefined after `ms`. The work itself goes on. */
export async function waitAtMost<Result>(
  ms: number,
  work: Promise<Result>,
  { ref }: TimerOptions = {},
): Promise<Result | undefined> {
  const settled = new AbortController();
  try {
    return await Promise.race([work, pause(ms, { ref, signal: settled.signal }).then(() => undefined)]);
  } finally {
    settled.abort();
  }
}

/** Settles as `work` does, or rejects with the signal's reason `graceMs` after its abort. The work itself goes on. */
export function abortable<Result>(
  work: Promise<Result>,
  signal: AbortSignal,
  { graceMs = 0 }: { readonly graceMs?: number } = {},
): Promise<Result> {
  return new Promise((resolve, reject) => {
    let grace: Timer | undefined;
    const giveUp = (): void => reject(signal.reason as Error);
    const onAbort = (): void => {
      if (graceMs === 0) giveUp();
      else grace = new Timer(graceMs, giveUp, { ref: false });
    };
    const settle =
      <Value>(settled: (value: Value) => void) =>
      (value: Value): void => {
        grace?.cancel();
        signal.removeEventListener('abort', onAbort);
        settled(value);
      };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    work.then(settle(resolve), settle(reject));
  });
}

/** The wait after the `failures`-th failure in a row: it begins with `firstMs` and grows (default: twofold) up to `longestMs`. */
export function backoffMs(
  failures: number,
  { firstMs, longestMs, growth = 2 }: Readonly<{ firstMs: number; longestMs: number; growth?: number }>,
): number {
  return Math.min(firstMs * growth ** Math.max(0, failures - 1), longestMs);
}

/**
 * A signal that aborts when something expected does not come in time, when `outer` aborts, or by `abort`. End it (or
 * dispose of it) once it is of no more use: until then its timer runs, and it listens to `outer`.
 */
export class Deadline implements Disposable {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #options: TimerOptions;
  #timer: Timer | undefined;
  #hasPassed = false;

  constructor(outer?: AbortSignal, options: TimerOptions = {}) {
    this.#outer = outer;
    this.#options = options;
    if (outer?.aborted) this.#follow();
    else outer?.addEventListener('abort', this.#follow);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Whether the time was over before the signal aborted for another reason. */
  get hasPassed(): boolean {
    return this.#hasPassed;
  }

  /** Starts a wait of `ms` in place of the previous one. After it, the signal aborts with `reason`. Returns itself. */
  expect(ms: number, reason: () => Error = () => tooLate(ms)): this {
    this.rest();
    const onLate = (): void => {
      this.#hasPassed = !this.signal.aborted;
      this.abort(reason());
    };
    if (!this.signal.aborted) this.#timer = new Timer(ms, onLate, this.#options);
    return this;
  }

  /** Starts the same wait again. */
  renew(): void {
    this.#timer?.renew();
  }

  /** Ends the wait, until the next `expect`. */
  rest(): void {
    this.#timer?.cancel();
  }

  /** Aborts the signal. Only the first reason counts. */
  abort(reason?: unknown): void {
    this.end();
    this.#controller.abort(reason);
  }

  /** From here on, only `abort` aborts the signal. */
  end(): void {
    this.rest();
    this.#outer?.removeEventListener('abort', this.#follow);
  }

  [Symbol.dispose](): void {
    this.end();
  }

  readonly #follow = (): void => this.abort(this.#outer?.reason);
}

function tooLate(ms: number): LangoError {
  return new LangoError('timeout', `It took longer than ${ms / 1_000} s.`, { retryable: true });
}
