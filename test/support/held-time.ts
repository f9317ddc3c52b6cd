import { jest } from '@jest/globals';

/**
 * Stops the time limits of the code under test: the time of `setTimeout` passes only by `jest.advanceTimersByTime`, so
 * that no limit ends before the work that a test wants to see. The pauses of node:timers/promises pass as always.
 */
export function holdTime(): Disposable {
  jest.useFakeTimers({
    doNotFake: ['Date', 'hrtime', 'nextTick', 'performance', 'queueMicrotask', 'setImmediate', 'setInterval'],
  });
  return { [Symbol.dispose]: () => void jest.useRealTimers() };
}

/** Lets the clocks of this process run ahead, so that a pause is over for code that compares times. Timers stay. */
export class ClockAhead implements Disposable {
  #passedMs = 0;
  readonly #spies = [Date, performance].map((clock: { now(): number }) => {
    const realNow = clock.now.bind(clock);
    return jest.spyOn(clock, 'now').mockImplementation(() => realNow() + this.#passedMs);
  });

  pass(ms: number): void {
    this.#passedMs += ms;
  }

  [Symbol.dispose](): void {
    for (const spy of this.#spies) spy.mockRestore();
  }
}
