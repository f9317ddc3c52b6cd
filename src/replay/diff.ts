import { canonicalJson } from '../core/canonical-json.js';
import type { ComparedEvent, Divergence } from '../core/fork.js';
import { isJsonObject, mapMembers, textIn, type Json, type JsonObject } from '../core/json.js';
import type { EventBody, Scope } from '../core/task.js';
import { readWhole, type ReadRecord } from './collect.js';
import { partings, type Lanes } from './comparison.js';
import { rootOf, stepOfId } from './passes.js';
import type { RecordedTask } from './task-file.js';

/** An event that says what was done, without the ids, keys, times and costs that are others in every task. */
export interface Deed {
  readonly seq: number;
  readonly author: string;
  readonly what: JsonObject;
}

/** Two tasks from the first event on that is another one. A side is empty when that task has no more events there. */
export interface TaskDifference {
  readonly a: readonly Deed[];
  readonly b: readonly Deed[];
}

/** Finds the first event at which two tasks part; undefined when both did the same. Steps at the same time have no order. */
export function differenceOf(a: RecordedTask, b: RecordedTask): TaskDifference | undefined {
  const [ofA, ofB] = [deedsOf(a), deedsOf(b)];
  const [first] = partings(ofA, ofB, isSame);
  return first && { a: from(ofA, first.a), b: from(ofB, first.b) };
}

/** The events of each side that a comparison has, and the characters of each. */
const SHOWN_EVENTS = 50;
const SHOWN_CHARACTERS = 1_000;

/** Returns a function that compares two tasks of an owner. It rejects with `not-found` for one that is not in the scope. */
export function createComparison(readRecord: ReadRecord) {
  return async (scope: Scope, first: string, second: string): Promise<Divergence> => {
    const a = await readWhole(readRecord, scope, first);
    const difference = differenceOf(a, await readWhole(readRecord, scope, second));
    if (!difference) return { isSame: true, a: [], b: [] };
    const shown = (deeds: readonly Deed[]) => deeds.slice(0, SHOWN_EVENTS).map(toCompared);
    return { isSame: false, a: shown(difference.a), b: shown(difference.b) };
  };
}

function toCompared({ seq, author, what: { type, ...rest } }: Deed): ComparedEvent {
  return { seq, author, type: textIn(type), text: JSON.stringify(rest).slice(0, SHOWN_CHARACTERS) };
}

/** The deeds of all lanes from one on. */
function from(lanes: Lanes<Deed>, first: Deed | undefined): readonly Deed[] {
  const deeds = first ? [...lanes.values()].flat().filter(({ seq }) => seq >= first.seq) : [];
  return deeds.toSorted((a, b) => a.seq - b.seq);
}

function isSame({ a, b }: Readonly<Record<'a' | 'b', Deed | undefined>>): boolean {
  return !!a && !!b && a.author === b.author && canonicalJson(a.what) === canonicalJson(b.what);
}

function laneOf(body: EventBody): string {
  if (body.type === 'artifact') return stepOfId(body.artifact.id) ?? body.artifact.id;
  return 'step' in body && body.step.includes('.') ? rootOf(body.step) : 'turns';
}

/** The events that say what was done. The text of a turn is in its end, and crashes are no deeds. */
const DEEDS: ReadonlySet<string> = new Set(
  (
    'message turn-end tool-call tool-result delegation-start delegation-end question artifact ' +
    'cancel-request run-end'
  ).split(' '),
);

/** The deeds of each call, and those of the turns of the task. */
function deedsOf({ agent, events }: RecordedTask): Lanes<Deed> {
  const done = events.filter(({ body }) => DEEDS.has(body.type));
  const lanes = [...Map.groupBy(done, ({ body }) => laneOf(body))];
  const deedOf = ({ seq, author = agent, body }: (typeof done)[number]): Deed => ({
    ...{ seq, author, what: plain(body as unknown as Json) as JsonObject },
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
