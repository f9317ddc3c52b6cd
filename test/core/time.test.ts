import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { getEventListeners } from 'node:events';
import {
  AlarmClock,
  LONGEST_TIMER_MS,
  Deadline,
  Timer,
  abortable,
  backoffMs,
  pause,
  waitAtMost,
} from '../../src/core/time.js';

const DAY_MS = 24 * 60 * 60 * 1_000;

function listeners(signal: AbortSignal): number {
  return getEventListeners(signal, 'abort').length;
}

/** The timers that keep this process alive. */
function held(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
}

const never = (): Promise<never> => new Promise(() => undefined);

function useFakeTimers(): void {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());
}

describe('Timer', () => {
  useFakeTimers();

  it('calls once when its time is over', () => {
    const call = jest.fn();
    new Timer(1_000, call);
    jest.advanceTimersByTime(999);
    expect(call).not.toHaveBeenCalled();
    jest.advanceTimersByTime(10_000);
    expect(call).toHaveBeenCalledTimes(1);
  });

  it.each([25, 50, 400])('waits %d days, which setTimeout cannot', (days) => {
    const call = jest.fn();
    new Timer(days * DAY_MS, call);
    jest.advanceTimersByTime(days * DAY_MS - 10);
    expect(call).not.toHaveBeenCalled();
    jest.advanceTimersByTime(10);
    expect(call).toHaveBeenCalledTimes(1);
  });

  it('never calls after Infinity', () => {
    const call = jest.fn();
    using _timer = new Timer(Infinity, call);
    for (let day = 0; day < 1_000; day += 20) jest.advanceTimersByTime(20 * DAY_MS);
    expect(call).not.toHaveBeenCalled();
  });

  it('calls at once for a time that has passed', () => {
    const call = jest.fn();
    new Timer(-5, call);
    jest.advanceTimersByTime(1);
    expect(call).toHaveBeenCalledTimes(1);
  });

  it('starts again when it is renewed, in each part of a long time', () => {
    const call = jest.fn();
    const timer = new Timer(60 * DAY_MS, call);
    jest.advanceTimersByTime(45 * DAY_MS);
    timer.renew();
    jest.advanceTimersByTime(59 * DAY_MS);
    expect(call).not.toHaveBeenCalled();
    jest.advanceTimersByTime(DAY_MS);
    expect(call).toHaveBeenCalledTimes(1);
  });

  it('calls no more once it was cancelled, and is not renewed after its end', () => {
    const call = jest.fn();
    const timer = new Timer(1_000, call);
    timer.cancel();
    timer.renew();
    expect(jest.getTimerCount()).toBe(0);
    const other = new Timer(1_000, call);
    jest.advanceTimersByTime(1_000);
    other.renew();
    jest.advanceTimersByTime(5_000);
    expect(call).toHaveBeenCalledTimes(1);
  });

  it('is cancelled by disposal', () => {
    {
      using _timer = new Timer(1_000, () => undefined);
      expect(jest.getTimerCount()).toBe(1);
    }
    expect(jest.getTimerCount()).toBe(0);
  });
});

describe('Timers', () => {
  it('keep the process alive, except with `ref: false`', () => {
    const before = held();
    const stop = new AbortController();
    const { signal } = stop;
    using _free = new Timer(60_000, () => undefined, { ref: false });
    using _freeDeadline = new Deadline(signal, { ref: false }).expect(60_000);
    void pause(60_000, { signal, ref: false });
    void waitAtMost(60_000, pause(60_000, { signal, ref: false }), { ref: false });
    expect(held()).toBe(before);
    using _held = new Timer(60_000, () => undefined);
    using _heldDeadline = new Deadline(signal).expect(60_000);
    void pause(60_000, { signal });
    void waitAtMost(60_000, pause(60_000, { signal, ref: false }));
    expect(held()).toBe(before + 4);
    stop.abort();
  });
});

describe('AlarmClock', () => {
  useFakeTimers();

  it('calls each at its time, in whatever order they were set, and none that was disposed of', () => {
    const clock = new AlarmClock();
    const called: string[] = [];
    clock.after(3_000, () => called.push('late'));
    clock.after(1_000, () => called.push('early'));
    clock.after(2_000, () => called.push('disposed'))[Symbol.dispose]();
    clock.after(Infinity, () => called.push('never'));
    jest.advanceTimersByTime(999);
    expect(called).toEqual([]);
    jest.advanceTimersByTime(1_001);
    expect(called).toEqual(['early']);
    clock.after(500, () => called.push('between'));
    jest.advanceTimersByTime(LONGEST_TIMER_MS);
    expect(called).toEqual(['early', 'between', 'late']);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('has one timer for all', () => {
    const clock = new AlarmClock();
    for (let index = 0; index < 100; index += 1) clock.after(1_000 - index, () => undefined);
    expect(jest.getTimerCount()).toBe(1);
  });
});

describe('pause', () => {
  it('resolves with true after its time', async () => {
    const begun = performance.now();
    expect(await pause(50)).toBe(true);
    expect(performance.now() - begun).toBeGreaterThan(45);
  });

  it('resolves with false as soon as the signal aborts, also one that is aborted already', async () => {
    const stop = new AbortController();
    const paused = pause(60_000, { signal: stop.signal });
    stop.abort(new Error('stop'));
    expect(await paused).toBe(false);
    expect(await pause(60_000, { signal: stop.signal })).toBe(false);
  });

  it('leaves no listener', async () => {
    const { signal } = new AbortController();
    await pause(1, { signal });
    expect(listeners(signal)).toBe(0);
  });

  it('does not end early when it is longer than a timer can be', async () => {
    const stop = new AbortController();
    const paused = pause(LONGEST_TIMER_MS + 1, { signal: stop.signal });
    expect(await waitAtMost(100, paused)).toBeUndefined();
    stop.abort();
    expect(await paused).toBe(false);
  });

  it('resolves for a time that has passed', async () => {
    expect(await pause(-1_000)).toBe(true);
  });
});

describe('waitAtMost', () => {
  it('settles as the work does, and leaves no timer', async () => {
    const before = held();
    expect(await waitAtMost(60_000, Promise.resolve('done'))).toBe('done');
    await expect(waitAtMost(60_000, Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(held()).toBe(before);
  });

  it('resolves with undefined once the time is over, and ignores how the work ends after that', async () => {
    const work = Promise.withResolvers<string>();
    const begun = performance.now();
    expect(await waitAtMost(50, work.promise)).toBeUndefined();
    expect(performance.now() - begun).toBeGreaterThan(45);
    work.reject(new Error('too late to be heard'));
    await pause(1);
  });
});

describe('abortable', () => {
  useFakeTimers();

  it('settles as the work does, and leaves no listener', async () => {
    const { signal } = new AbortController();
    expect(await abortable(Promise.resolve(1), signal)).toBe(1);
    await expect(abortable(Promise.reject(new Error('no')), signal)).rejects.toThrow('no');
    expect(listeners(signal)).toBe(0);
  });

  it('rejects with the reason of the signal, also of one that is aborted already', async () => {
    const stop = new AbortController();
    const waiting = abortable(never(), stop.signal);
    stop.abort(new Error('stopped'));
    await expect(waiting).rejects.toThrow('stopped');
    await expect(abortable(never(), stop.signal)).rejects.toThrow('stopped');
  });

  it('gives aborted work a grace time, within which it may still settle', async () => {
    const stop = new AbortController();
    const work = Promise.withResolvers<string>();
    const kept = abortable(work.promise, stop.signal, { graceMs: 1_000 });
    const lost = abortable(never(), stop.signal, { graceMs: 1_000 });
    stop.abort(new Error('stopped'));
    jest.advanceTimersByTime(999);
    work.resolve('in time');
    expect(await kept).toBe('in time');
    expect(jest.getTimerCount()).toBe(1);
    jest.advanceTimersByTime(1);
    await expect(lost).rejects.toThrow('stopped');
    expect(jest.getTimerCount()).toBe(0);
  });
});

describe('backoffMs', () => {
  it('doubles from the first wait up to the longest', () => {
    const rules = { firstMs: 100, longestMs: 1_000 };
    expect([0, 1, 2, 3, 4, 5, 5_000].map((failures) => backoffMs(failures, rules))).toEqual([
      ...[100, 100, 200, 400, 800, 1_000, 1_000],
    ]);
  });

  it('grows as it is told', () => {
    const rules = { firstMs: 100, longestMs: 1_000, growth: 3 };
    expect([1, 2, 3, 4].map((failures) => backoffMs(failures, rules))).toEqual([100, 300, 900, 1_000]);
  });
});

describe('Deadline', () => {
  useFakeTimers();

  it('aborts with the reason once the time is over', () => {
    using deadline = new Deadline().expect(1_000, () => new Error('silent'));
    jest.advanceTimersByTime(999);
    expect(deadline.signal.aborted).toBe(false);
    jest.advanceTimersByTime(1);
    expect(deadline.signal.reason).toEqual(new Error('silent'));
    expect(deadline.hasPassed).toBe(true);
  });

  it('says how long it waited when no reason is given', () => {
    using deadline = new Deadline().expect(1_500);
    jest.advanceTimersByTime(1_500);
    expect(deadline.signal.reason).toMatchObject({ code: 'timeout', message: 'It took longer than 1.5 s.' });
  });

  it('starts again with each renewal, and does not count while it rests', () => {
    using deadline = new Deadline().expect(1_000);
    for (let count = 0; count < 5; count += 1) {
      jest.advanceTimersByTime(900);
      deadline.renew();
    }
    deadline.rest();
    jest.advanceTimersByTime(60_000);
    deadline.renew();
    jest.advanceTimersByTime(60_000);
    expect(deadline.signal.aborted).toBe(false);
    deadline.expect(10);
    jest.advanceTimersByTime(10);
    expect(deadline.signal.aborted).toBe(true);
  });

  it('replaces the previous wait', () => {
    using deadline = new Deadline().expect(1_000).expect(5_000);
    jest.advanceTimersByTime(4_999);
    expect(deadline.signal.aborted).toBe(false);
    expect(jest.getTimerCount()).toBe(1);
  });

  it('waits longer than a timer can, and for ever', () => {
    using long = new Deadline().expect(60 * DAY_MS);
    using endless = new Deadline().expect(Infinity);
    for (let day = 0; day < 59; day += 1) jest.advanceTimersByTime(DAY_MS);
    expect(long.signal.aborted).toBe(false);
    jest.advanceTimersByTime(DAY_MS);
    expect([long.hasPassed, endless.hasPassed]).toEqual([true, false]);
  });

  it('aborts with the outer signal, also one that is aborted already, and has not passed then', () => {
    const outer = new AbortController();
    using deadline = new Deadline(outer.signal).expect(1_000);
    outer.abort(new Error('outer'));
    using late = new Deadline(outer.signal).expect(1_000);
    expect([deadline.signal.reason, late.signal.reason]).toEqual([new Error('outer'), new Error('outer')]);
    expect(jest.getTimerCount()).toBe(0);
    expect([deadline.hasPassed, late.hasPassed]).toEqual([false, false]);
  });

  it('keeps the first reason', () => {
    const outer = new AbortController();
    using deadline = new Deadline(outer.signal).expect(1_000, () => new Error('late'));
    jest.advanceTimersByTime(1_000);
    outer.abort(new Error('outer'));
    deadline.abort(new Error('own'));
    expect(deadline.signal.reason).toEqual(new Error('late'));
  });

  it.each(['ended', 'disposed of', 'aborted', 'passed'])(
    'leaves no timer and no listener once it is %s',
    (how) => {
      const { signal } = new AbortController();
      const deadline = new Deadline(signal).expect(1_000);
      expect([listeners(signal), jest.getTimerCount()]).toEqual([1, 1]);
      if (how === 'ended') deadline.end();
      if (how === 'disposed of') deadline[Symbol.dispose]();
      if (how === 'aborted') deadline.abort();
      if (how === 'passed') jest.advanceTimersByTime(1_000);
      expect([listeners(signal), jest.getTimerCount()]).toEqual([0, 0]);
    },
  );

  it('does not follow the outer signal after its end', () => {
    const outer = new AbortController();
    const deadline = new Deadline(outer.signal).expect(1_000);
    deadline.end();
    outer.abort();
    expect(deadline.signal.aborted).toBe(false);
  });
});
