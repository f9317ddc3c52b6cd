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
