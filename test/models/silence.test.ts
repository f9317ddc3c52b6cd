import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { SilenceWatch } from '../../src/models/exchange.js';

describe('a watch for silence', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  const never = () => new AbortController().signal;

  it('aborts after too long a silence, from the start on', () => {
    using watch = new SilenceWatch(never(), 1_000);
    jest.advanceTimersByTime(999);
    expect(watch.signal.aborted).toBe(false);
    jest.advanceTimersByTime(1);
    expect([watch.signal.aborted, watch.hasPassed]).toEqual([true, true]);
  });

  it('restarts with each byte, and pauses while no response is awaited', () => {
    using watch = new SilenceWatch(never(), 1_000);
    for (let count = 0; count < 5; count++) {
      jest.advanceTimersByTime(900);
      watch.rest();
      jest.advanceTimersByTime(60_000);
      watch.wait();
    }
    expect(watch.signal.aborted).toBe(false);
    jest.advanceTimersByTime(1_000);
    expect(watch.hasPassed).toBe(true);
  });

  it('can lower its limit, and never raise it', () => {
    using watch = new SilenceWatch(never(), 1_000);
    watch.shorten(5_000);
    watch.wait();
    jest.advanceTimersByTime(1_000);
    expect(watch.hasPassed).toBe(true);
    using other = new SilenceWatch(never(), 1_000);
    other.shorten(100);
    other.wait();
    jest.advanceTimersByTime(100);
    expect(other.hasPassed).toBe(true);
  });

  it('aborts with the outer signal, also one that is aborted already, and does not report silence then', () => {
    const outer = new AbortController();
    using watch = new SilenceWatch(outer.signal, 1_000);
    outer.abort();
    using late = new SilenceWatch(outer.signal, 1_000);
    expect([watch.signal.aborted, watch.hasPassed]).toEqual([true, false]);
    expect([late.signal.aborted, late.hasPassed]).toEqual([true, false]);
  });

  it('aborts when it is disposed of, and leaves no timer', () => {
    const watch = new SilenceWatch(never(), 1_000);
    watch[Symbol.dispose]();
    expect([watch.signal.aborted, watch.hasPassed]).toEqual([true, false]);
    expect(jest.getTimerCount()).toBe(0);
  });
});
