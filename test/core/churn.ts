import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { ReleasingMap } from '../../src/core/releasing-map.js';
import { AlarmClock } from '../../src/core/time.js';

/** A program of its own: inside Jest, V8 keeps a changing share of what no code refers to. */

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

const clock = new AlarmClock();
const alarms = new ReleasingMap<number, Disposable>();
const alarmSlots: Slots = {
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

console.log(
  JSON.stringify({
    alarms: keptAfterChurn(alarmSlots),
    releasing: keptAfterChurn(new ReleasingMap()),
    map: keptAfterChurn(new Map()),
  }),
);
