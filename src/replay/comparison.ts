import { canonicalJson } from '../core/canonical-json.js';
import type { ComparedEvent, Comparison } from '../core/fork.js';
import { isJsonObject, mapMembers, type Json } from '../core/json.js';
import type { EventBody, NewEvent, Scope, TaskEvent } from '../core/task.js';
import { wholeTask, type ReadRecord } from './collect.js';
import { isEndedFromOutside, rootOf, stepOfId, type Pass } from './passes.js';
import type { RecordedTask } from './task-file.js';

/** The first place at which a replayed task is another than the recorded one. */
export interface Divergence {
  /** The number of the recorded event; undefined when the record ends before. */
  readonly seq: number | undefined;
  /** Undefined when the record holds no such event. */
  readonly recorded: NewEvent | undefined;
  /** The event that would be written now; undefined when none would. */
  readonly now: NewEvent | undefined;
}

/** An event in the form in which it is compared: text in one piece, and only what must be the same. */
interface Item {
  readonly seq: number | undefined;
  readonly event: NewEvent;
}

/** The events of things done at the same time, by the call or the text that they belong to. */
type Lanes = ReadonlyMap<string, readonly Item[]>;

/**
 * Compares the events of a run with those that its replay wrote. Steps that ran at the same time are compared one by one,
 * as their order among each other is chance. So is the size of the pieces of a text.
 */
export function firstDivergence(pass: Pass, agent: string, now: readonly NewEvent[]): Divergence | undefined {
  const isCut = isEndedFromOutside(pass);
  // Whether the question for a login that comes by another way is shown depends on how long the login takes.
  const shown = pass.events.flatMap(({ body }) => (body.type === 'status' ? (body.questions ?? []) : []));
  const logins = new Set(shown.map(({ hash }) => hash));
  const isCompared = ({ author = agent, body }: NewEvent) =>
    !TAKEN.has(body.type) &&
    !(body.type === 'activity' && author === agent) &&
    !(body.type === 'run-end' && isCut) &&
    !(body.type === 'question' && logins.has(body.question.hash));
  const lanes = (events: readonly NewEvent[]) =>
    lanesOf(events.filter(isCompared), agent, (body) => without(sorted(body), NOT_COMPARED));
  // A record that was cut off says nothing of what would have come next.
  const isAlike: IsAlike = (a, b, isLastOfA) =>
    isSame(a, b) || (isCut && (!a || (isLastOfA && beginsAlike(a, b))));
  const found = partings(lanes(pass.events), lanes(now), isAlike);
  const [first] = found;
  // The event in place of another may be in another lane: a run ends where a call would have begun.
  const instead = first?.b ?? found.find(({ b }) => b)?.b;
  return first && { seq: first.a?.seq, recorded: first.a?.event, now: instead?.event };
}

type IsAlike = (a: Item | undefined, b: Item | undefined, isLastOfA: boolean) => boolean;

/** The first items of each lane that are not the same, in the order of their numbers. */
function partings(a: Lanes, b: Lanes, isAlike: IsAlike = isSame) {
  const found = [...new Set([...a.keys(), ...b.keys()])].flatMap((lane) => {
    const [inA, inB] = [a.get(lane) ?? [], b.get(lane) ?? []];
    const longer = inA.length < inB.length ? inB : inA;
    const first = longer.findIndex((_, at) => !isAlike(inA[at], inB[at], at === inA.length - 1));
    return first < 0 ? [] : [{ a: inA[first], b: inB[first] }];
  });
  const seqOf = (one: (typeof found)[number]) => Math.min(one.a?.seq ?? Infinity, one.b?.seq ?? Infinity);
  return found.toSorted((one, other) => seqOf(one) - seqOf(other));
}

/** The characters that are shown before and after the first difference of two entries. */
const BEFORE = 60;
const AFTER = 400;

/** Says where a replay differs, and shows both entries from there on. */
export function describeDivergence({ seq, recorded, now }: Divergence) {
  const [before = '', after = ''] = [recorded, now].map((one) => one && canonicalJson(one));
  let same = 0;
  while (same < before.length && before[same] === after[same]) same += 1;
  const begin = Math.max(0, same - BEFORE);
  const shown = (text: string): string =>
    text === '' ? 'nothing' : `${begin > 0 ? '…' : ''}${text.slice(begin, same + AFTER)}`;
  const where = seq === undefined ? 'the end of the record' : `event ${seq}`;
  return { where, recorded: shown(before), now: shown(after) };
}

function isSame(a: Item | undefined, b: Item | undefined): boolean {
  return a && b ? canonicalJson(a.event) === canonicalJson(b.event) : a === b;
}

/** Whether one text is the beginning of the other: a crash may come before or after its next piece. */
function beginsAlike(a: Item | undefined, b: Item | undefined): boolean {
  const [one, other] = [a, b].map((item) =>
    item?.event.body.type === 'text-delta' ? item.event.body.text : undefined,
  );
  return one !== undefined && other !== undefined && (one.startsWith(other) || other.startsWith(one));
}

/** The events that are no consequence of what the agent was told. So is the progress of its own tools. */
const TAKEN: ReadonlySet<string> = new Set(
  'message question-expiry cancel-request results-cleared fork status'.split(' '),
);

/**
 * References repeat what is elsewhere, nobody can know who was watching, requests hold prompts that are not in the record,
 * and questions have other times.
 */
const NOT_COMPARED: ReadonlySet<string> = new Set('from isLive asked expiresAt readCount'.split(' '));

/** The events by what they belong to. `comparable` leaves of a body what must be the same. */
function lanesOf(
  events: readonly (Pick<NewEvent, 'body'> & Partial<Pick<TaskEvent, 'author' | 'seq'>>)[],
  agent: string,
  comparable: (body: EventBody) => EventBody,
): Lanes {
  const lanes = new Map<string, Item[]>();
  /** The number of turns that ended: the text of each is compared apart. */
  let turns = 0;
  for (const { author = agent, body, seq } of events) {
    if (body.type === 'turn-end') turns += 1;
    const lane = laneOf(author, body) + (body.type === 'text-delta' ? ` ${turns}` : '');
    const items = lanes.get(lane) ?? [];
    lanes.set(lane, items);
    const last = items.at(-1);
    const event = { author, body: comparable(body) };
    const joined = last && joinTexts(last.event, event);
    if (joined) items[items.length - 1] = { seq: last.seq, event: joined };
    else items.push({ seq, event });
  }
  return lanes;
}

/** The call, text or artifact that an event belongs to; the events of turns belong together. */
function laneOf(author: string, body: EventBody): string {
  switch (body.type) {
    case 'text-delta':
      return `text ${body.artifactId}`;
    case 'artifact':
      return `artifact ${stepOfId(body.artifact.id) ?? body.artifact.id}`;
    case 'activity':
      return `activity ${author}`;
    default:
      return 'step' in body && body.step.includes('.') ? rootOf(body.step) : 'turns';
  }
}

function joinTexts(last: NewEvent, next: NewEvent): NewEvent | undefined {
  const before = last.body;
  const after = next.body;
  if (before.type !== 'text-delta' || after.type !== 'text-delta') return undefined;
  if (last.author !== next.author || before.name !== after.name) return undefined;
  const text = after.replace ? after.text : before.text + after.text;
  const { lastChunk: _, ...rest } = before;
  const isLast = before.lastChunk || after.lastChunk;
  const replace = before.replace || after.replace;
  return { ...last, body: { ...rest, text, replace, ...(isLast && { lastChunk: isLast }) } };
}

/** Agents that worked at the same time are on a bill in the order in which they were ready. */
function sorted(body: EventBody): EventBody {
  if (!('usage' in body) || !body.usage.rows) return body;
  const rows = body.usage.rows.toSorted((a, b) => (canonicalJson(a) < canonicalJson(b) ? -1 : 1));
  return { ...body, usage: { ...body.usage, rows } };
}

/** The members whose values are content, in which any name may occur. */
const CONTENT: ReadonlySet<string> = new Set(
  'arguments data metadata block answerSchema replies request state'.split(' '),
);

/** A body without the members of some names, except in content. `textOf` changes its other texts. */
export function without(
  body: EventBody,
  names: ReadonlySet<string>,
  textOf = (text: string): string => text,
): EventBody {
  const kept = (value: Json): Json => {
    if (typeof value === 'string') return textOf(value);
    if (Array.isArray(value)) return (value as Json[]).map(kept);
    if (!isJsonObject(value)) return value;
    const members = Object.entries(value).filter(
      ([name, member]) => member !== undefined && !names.has(name),
    ) as [string, Json][];
    return mapMembers(Object.fromEntries(members), (member, name) => {
      // A question and a reply to it are data of a part of a message.
      const isReply = isJsonObject(member) && ('answer' in member || 'question' in member);
      return CONTENT.has(name) && !(name === 'data' && isReply) ? member : kept(member);
    });
  };
  return kept(body as unknown as Json) as unknown as EventBody;
}

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
  const deeds = [...lanes.values()].flat().map(({ seq = 0, event: { author = '', body } }) => {
    const { type, ...rest } = body;
    return { seq, author, type, text: canonicalJson(rest) };
  });
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
    'id key hash callId taskId contextId peerContextId usage asked readCount expiresAt lastChunk fromOutside metadata ' +
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
