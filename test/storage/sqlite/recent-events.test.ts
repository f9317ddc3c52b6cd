import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { NO_USAGE } from '../../../src/core/model.js';
import type { StoredEvent } from '../../../src/storage/rows.js';
import { RecentEvents } from '../../../src/storage/recent-events.js';

function rows(from: number, to: number, body = '{}'): StoredEvent[] {
  return Array.from({ length: to - from + 1 }, (_, at) => ({
    seq: from + at,
    at: 0,
    author: null,
    body,
  }));
}

function seqs(events: readonly StoredEvent[] | undefined): readonly number[] | undefined {
  return events?.map(({ seq }) => seq);
}

describe('recent events', () => {
  it('return what was added after a cursor, in order, at most the limit', () => {
    const recent = new RecentEvents();
    recent.add('t', rows(1, 2));
    recent.add('t', rows(3, 6));
    expect(seqs(recent.read('t', 0, 10))).toEqual([1, 2, 3, 4, 5, 6]);
    expect(seqs(recent.read('t', 2, 3))).toEqual([3, 4, 5]);
    expect(seqs(recent.read('t', 6, 10))).toEqual([]);
  });

  it('do not cover tasks, or beginnings of tasks, that were not reported', () => {
    const recent = new RecentEvents();
    recent.add('t', rows(7, 9));
    expect(recent.read('other', 0, 10)).toBeUndefined();
    expect(recent.read('t', 5, 10)).toBeUndefined();
    expect(seqs(recent.read('t', 6, 10))).toEqual([7, 8, 9]);
  });

  it('drop the least recently written task when its events are too large with their content', () => {
    const recent = new RecentEvents();
    recent.add('old', rows(1, 1));
    const whole = 'x'.repeat(600_000);
    recent.add('large', [{ ...rows(1, 1)[0]!, whole }]);
    expect(seqs(recent.read('old', 0, 9))).toEqual([1]);
    recent.add('large', [{ ...rows(2, 2)[0]!, whole }]);
    expect(recent.read('old', 0, 9)).toBeUndefined();
  });

  it('drop the least recently written task when there are too many events', () => {
    const recent = new RecentEvents();
    recent.add('old', rows(1, 1));
    recent.add('busy', rows(1, 1));
    recent.add('old', rows(2, 2));
    recent.add('new', rows(1, 998));
    expect(recent.read('busy', 0, 10)).toBeUndefined();
    expect(seqs(recent.read('old', 0, 10))).toEqual([1, 2]);
  });

  it('keep a run that ended until who waits for its end has read it, and no longer', async () => {
    const recent = new RecentEvents();
    const end = { type: 'run-end', state: 'completed', usage: NO_USAGE } as const;
    recent.add('t', [...rows(1, 2), { ...rows(3, 3)[0]!, parsed: end }]);
    recent.add('running', rows(1, 2));
    await Promise.resolve();
    expect(seqs(recent.read('t', 0, 10))).toEqual([1, 2, 3]);
    await nextTurn();
    expect(recent.read('t', 0, 10)).toBeUndefined();
    expect(seqs(recent.read('running', 0, 10))).toEqual([1, 2]);
  });

  it('drop their own counts, and continue, when one task alone is too large', () => {
    const recent = new RecentEvents();
    recent.add('t', rows(1, 5, 'x'.repeat(256 * 1024)));
    expect(recent.read('t', 0, 10)).toBeUndefined();
    recent.add('t', rows(6, 7));
    expect(seqs(recent.read('t', 5, 10))).toEqual([6, 7]);
    expect(recent.read('t', 4, 10)).toBeUndefined();
  });
});
