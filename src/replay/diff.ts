import { canonicalJson } from '../core/canonical-json.js';
import type { ComparedEvent, Comparison } from '../core/fork.js';
import { isJsonObject, mapMembers, type Json } from '../core/json.js';
import type { Scope } from '../core/task.js';
import { readWhole, type ReadRecord } from './collect.js';
import { laneOf, partings, type Lanes } from './comparison.js';
import type { RecordedTask } from './task-file.js';

/** Finds the first event at which two tasks part. Steps at the same time have no order. */
export function compareTasks(one: RecordedTask, other: RecordedTask): Comparison {
  const [ofA, ofB] = [deedsOf(one), deedsOf(other)];
  const [first] = partings(ofA, ofB, isSame);
  return { isSame: !first, a: from(ofA, first?.a), b: from(ofB, first?.b) };
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
    const one = await readWhole(readRecord, scope, first);
    const { isSame: same, a, b } = compareTasks(one, await readWhole(readRecord, scope, second));
    const shown = (side: Comparison['a']) =>
      side.slice(0, SHOWN_EVENTS).map((deed) => ({ ...deed, text: deed.text.slice(0, SHOWN_CHARACTERS) }));
    return { isSame: same, a: shown(a), b: shown(b) };
  };
}

/** The deeds of all lanes from one on. */
function from(lanes: Lanes<ComparedEvent>, first: ComparedEvent | undefined): readonly ComparedEvent[] {
  const deeds = first ? [...lanes.values()].flat().filter(({ seq }) => seq >= first.seq) : [];
  return deeds.toSorted((a, b) => a.seq - b.seq);
}

function isSame({ a, b }: Readonly<Record<'a' | 'b', ComparedEvent | undefined>>): boolean {
  return a?.author === b?.author && a?.type === b?.type && a?.text === b?.text;
}

/** The events that say what was done. The text of a turn is in its end, and crashes are no deeds. */
const DEEDS: ReadonlySet<string> = new Set(
  (
    'message turn-end tool-call tool-result delegation-start delegation-end question artifact ' +
    'cancel-request run-end'
  ).split(' '),
);

/** The deeds of each call, and those of the turns of the task. */
function deedsOf({ agent, events }: RecordedTask): Lanes<ComparedEvent> {
  const done = events.filter(({ body }) => DEEDS.has(body.type));
  const lanes = [...Map.groupBy(done, ({ author, body }) => laneOf(author, body))];
  const deedOf = ({ seq, author = agent, body: { type, ...rest } }: (typeof done)[number]) => ({
    ...{ seq, author, type, text: canonicalJson(plain(rest as Json)) },
  });
  return new Map(lanes.map(([lane, some]) => [lane, some.map(deedOf)]));
}

/** The members that are others in every task. */
const LEFT_OUT: ReadonlySet<string> = new Set(
  (
    'id key hash callId taskId contextId peerContextId usage asked expiresAt lastChunk fromOutside metadata ' +
    'extensions referenceTaskIds block'
  ).split(' '),
);
/** The members whose values are content, in which any name may occur. */
const CONTENT: ReadonlySet<string> = new Set(['arguments', 'data']);
/** The code of a question, which is made of its hash. */
const CODE = /\b(approve|deny|Reply:) [0-9A-Z]{4}\b/g;

function plain(value: Json): Json {
  if (typeof value === 'string') return value.replace(CODE, '$1 …');
  if (Array.isArray(value)) return (value as Json[]).map(plain);
  if (!isJsonObject(value)) return value;
  const kept = Object.entries(value).filter(([name, member]) => !LEFT_OUT.has(name) && member !== undefined);
  return mapMembers(Object.fromEntries(kept), (given, name) => {
    const member = given as Json;
    // A question and a reply to it, in a part of a message, name its hash.
    const isReply = name === 'data' && isJsonObject(member) && ('answer' in member || 'question' in member);
    return CONTENT.has(name) && !isReply ? member : plain(member);
  });
}
