import { canonicalJson } from '../core/canonical-json.js';
import type { ComparedEvent, Comparison } from '../core/fork.js';
import type { Scope } from '../core/task.js';
import { wholeTask, type ReadRecord } from './collect.js';
import { lanesOf, partings, without, type Lanes } from './comparison.js';
import type { RecordedTask } from './task-file.js';

/** Finds the first event at which two tasks part. Steps at the same time have no order. */
export function compareTasks(one: RecordedTask, other: RecordedTask): Comparison {
  const [ofA, ofB] = [deedsOf(one), deedsOf(other)];
  const [first] = partings(ofA, ofB);
  return { isSame: !first, a: from(ofA, first?.a?.seq), b: from(ofB, first?.b?.seq) };
}

/** The events of each side that a comparison has, and the characters of each. */
const SHOWN_EVENTS = 50;
const SHOWN_CHARACTERS = 1_000;

/**
 * Returns a function that compares two tasks of an owner, with the beginnings of what each did. It rejects with `not-found`
 * for one that is not in the scope.
 */
export function createComparison(readRecord: ReadRecord) {
  return async (scope: Scope, first: string, second: string): Promise<Comparison> => {
    const read = (taskId: string) => wholeTask((after) => readRecord(scope, taskId, after));
    const { isSame, a, b } = compareTasks(await read(first), await read(second));
    const shown = (side: Comparison['a']) =>
      side.slice(0, SHOWN_EVENTS).map((deed) => ({ ...deed, text: deed.text.slice(0, SHOWN_CHARACTERS) }));
    return { isSame, a: shown(a), b: shown(b) };
  };
}

/** The deeds of all lanes from the event of a number on. */
function from(lanes: Lanes, begin = Infinity): readonly ComparedEvent[] {
  const deeds = [...lanes.values()].flat().map(({ seq = 0, author = '', body: { type, ...rest } }) => ({
    ...{ seq, author, type, text: canonicalJson(rest) },
  }));
  return deeds.filter(({ seq }) => seq >= begin).toSorted((a, b) => a.seq - b.seq);
}

/** The events that say what was done. The text of a turn is in its end, and crashes are no deeds. */
const DEEDS: ReadonlySet<string> = new Set(
  (
    'message turn-end tool-call tool-result delegation-start delegation-end question artifact ' +
    'cancel-request run-end'
  ).split(' '),
);

/** The members that are others in every task. */
const LEFT_OUT: ReadonlySet<string> = new Set(
  (
    'id key hash callId taskId contextId peerContextId usage asked expiresAt lastChunk fromOutside metadata ' +
    'extensions referenceTaskIds block'
  ).split(' '),
);
/** The code of a question, which is made of its hash. */
const CODE = /\b(approve|deny|Reply:) [0-9A-Z]{4}\b/g;

/** The deeds of each call, and those of the turns of the task. */
function deedsOf({ agent, events }: RecordedTask): Lanes {
  const done = events.filter(({ body }) => DEEDS.has(body.type));
  return lanesOf(done, agent, (body) => without(body, LEFT_OUT, (text) => text.replace(CODE, '$1 …')));
}
