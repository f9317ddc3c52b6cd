import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from '@jest/globals';
import { ReleasingMap } from '../../src/core/releasing-map.js';
import { AlarmClock } from '../../src/core/time.js';

interface Slots {
  set(key: number, value: object): unknown;
  delete(key: number): unknown;
}

const DAY_MS = 24 * 60 * 60 * 1_000;
const AT_ONCE = 4;
const IN_ALL = 2_000;
/** Values are parsed, as V8 may place the value of an expression in old space from the start. */
const VALUE = JSON.stringify(new Array(200).fill(0.5));

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as (options: { readonly type: 'minor' | 'major' }) => void;

/** The bytes that moved to old space while so many values came and went. */
function keptAfterChurn(slots: Slots): number {
  gc({ type: 'major' });
  const before = oldBytes();
  for (let index = 0; index < IN_ALL; index++) {
    slots.set(index, JSON.parse(VALUE) as object);
    slots.delete(index - AT_ONCE);
    if (index % 100 === 0) gc({ type: 'minor' });
  }
  return oldBytes() - before;
}

function oldBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')!.space_used_size;
}

const ofMap = () => keptAfterChurn(new Map());

test('AlarmClock releases what a cancelled call refers to', () => {
  const clock = new AlarmClock();
  const alarms = new ReleasingMap<number, Disposable>();
  const slots: Slots = {
    set: (key, value) =>
      alarms.set(
        key,
        clock.after(DAY_MS, () => void value),
      ),
    delete(key) {
      alarms.get(key)?.[Symbol.dispose]();
      alarms.delete(key);
    },
  };
  expect(keptAfterChurn(slots)).toBeLessThan(ofMap() / 4);
});

describe('ReleasingMap', () => {
  test('releases deleted values, which a Map keeps in its old table', () => {
    const ours = keptAfterChurn(new ReleasingMap());
    expect(ours).toBeLessThan(ofMap() / 4);
  });

  test('keeps keys in the order in which they were last set, and allows deletion during iteration', () => {
    const map = new ReleasingMap<string, number>();
    for (const [index, key] of ['a', 'b', 'c', 'a'].entries()) map.set(key, index);
    expect([...map]).toEqual([
      ['b', 1],
      ['c', 2],
      ['a', 3],
    ]);
    for (const [key] of map) map.delete(key);
    expect([...map]).toEqual([]);
    expect(map.get('a')).toBeUndefined();
  });
});
