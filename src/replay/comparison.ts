import { canonicalJson } from '../core/canonical-json.js';
import { isJsonObject, mapMembers, type Json } from '../core/json.js';
import type { EventBody, NewEvent, TaskEvent } from '../core/task.js';
import { isEndedFromOutside, rootOf, stepOfId, type Pass } from './passes.js';

/** The first place at which a replayed task is another than the recorded one. */
export interface Divergence {
  /** The number of the recorded event; undefined when the record ends before. */
  readonly seq: number | undefined;
  /** Undefined when the record holds no such event. */
  readonly recorded: NewEvent | undefined;
  /** The event that would be written now; undefined when none would. */
  readonly now: NewEvent | undefined;
}

/** An event in the form in which it is compared: text in one piece, without times and references. */
interface Item extends NewEvent {
  readonly seq: number | undefined;
}

type Numbered = NewEvent & Partial<Pick<TaskEvent, 'seq'>>;

/**
 * Compares the events of a run with those that its replay wrote. Steps that ran at the same time are compared one by one,
 * as their order among each other is chance. So is the size of the pieces of a text.
 */
export function firstDivergence(pass: Pass, agent: string, now: readonly NewEvent[]): Divergence | undefined {
  const isCut = isEndedFromOutside(pass);
  const options = { agent, isCut, logins: loginsIn(pass.events) };
  const recorded = lanesOf(pass.events, options);
  const written = lanesOf(now, options);
  // A record that was cut off says nothing of what would have come next.
  const found = partings(recorded, written, ({ a, b, isLastOfA }) =>
    isCut && (!a || (isLastOfA && beginsAlike(a, b))) ? true : isSame(a, b),
  );
  const [first] = found;
  // The event in place of another may be in another lane: a run ends where a call would have begun.
  const instead = first?.b ?? found.find(({ b }) => b)?.b;
  return first && { seq: first.a?.seq, recorded: plain(first.a), now: plain(instead) };
}

/** The events of things done at the same time, by the call or the text that they belong to. */
export type Lanes<Entry> = ReadonlyMap<string, readonly Entry[]>;

interface Parting<Entry> {
  readonly a: Entry | undefined;
  readonly b: Entry | undefined;
}

/** The first entries of each lane that are not the same, in the order of their numbers. */
export function partings<Entry extends { readonly seq: number | undefined }>(
  a: Lanes<Entry>,
  b: Lanes<Entry>,
  isSameEntry: (pair: Parting<Entry> & { readonly isLastOfA: boolean }) => boolean,
): readonly Parting<Entry>[] {
  const found: Parting<Entry>[] = [];
  for (const lane of new Set([...a.keys(), ...b.keys()])) {
    const [inA, inB] = [a.get(lane) ?? [], b.get(lane) ?? []];
    const longer = inA.length < inB.length ? inB : inA;
    const first = longer.findIndex(
      (_, index) => !isSameEntry({ a: inA[index], b: inB[index], isLastOfA: index === inA.length - 1 }),
    );
    if (first >= 0) found.push({ a: inA[first], b: inB[first] });
  }
  const seqOf = (one: Parting<Entry>) => Math.min(one.a?.seq ?? Infinity, one.b?.seq ?? Infinity);
  return found.toSorted((one, other) => seqOf(one) - seqOf(other));
}

/** The characters that are shown before and after the first difference of two entries. */
const BEFORE = 60;
const AFTER = 400;

/** Says where a replay differs, and shows both entries from there on. */
export function describeDivergence({ seq, recorded, now }: Divergence) {
  const [before, after] = [recorded, now].map((one) => (one === undefined ? '' : canonicalJson(one)));
  let same = 0;
  while (same < before!.length && before![same] === after![same]) same += 1;
  const begin = Math.max(0, same - BEFORE);
  const shown = (text: string): string =>
    text === '' ? 'nothing' : `${begin > 0 ? '…' : ''}${text.slice(begin, same + AFTER)}`;
  const where = seq === undefined ? 'the end of the record' : `event ${seq}`;
  return { where, recorded: shown(before!), now: shown(after!) };
}

const plain = (item: Item | undefined): NewEvent | undefined =>
  item && { author: item.author, body: item.body };

function isSame(a: Item | undefined, b: Item | undefined): boolean {
  if (!a || !b) return a === b;
  return a.author === b.author && canonicalJson(a.body) === canonicalJson(b.body);
}

/** Whether one text is the beginning of the other: a crash may come before or after its next piece. */
function beginsAlike(a: Item | undefined, b: Item | undefined): boolean {
  if (a?.body.type !== 'text-delta' || b?.body.type !== 'text-delta') return false;
  const [one, other] = [a.body.text, b.body.text];
  return one.startsWith(other) || other.startsWith(one);
}

/** The events that come from outside of the agent and are taken as recorded. */
const TAKEN: ReadonlySet<EventBody['type']> = new Set<EventBody['type']>(['message', 'question-expiry'])
  .add('cancel-request')
  .add('results-cleared')
  .add('fork')
  .add('status');

/** Whether the event is no consequence of what the agent was told: a message, the progress of a tool, a wait for a vendor. */
function isTaken({ author, body }: NewEvent, agent: string): boolean {
  return TAKEN.has(body.type) || (body.type === 'activity' && author === agent);
}

interface LaneOptions {
  readonly agent: string;
  readonly isCut: boolean;
  /** The hashes of questions that are not compared. */
  readonly logins: ReadonlySet<string>;
}

function lanesOf(events: readonly Numbered[], { agent, isCut, logins }: LaneOptions): Lanes<Item> {
  const lanes = new Map<string, Item[]>();
  /** The number of turns that ended: the text of each is compared apart. */
  let turns = 0;
  for (const { author = agent, body, seq } of events) {
    if (body.type === 'question' && logins.has(body.question.hash)) continue;
    if (isTaken({ author, body }, agent) || (isCut && body.type === 'run-end')) continue;
    if (body.type === 'turn-end') turns += 1;
    const lane = laneOf(author, body) + (body.type === 'text-delta' ? ` ${turns}` : '');
    const items = lanes.get(lane) ?? [];
    lanes.set(lane, items);
    const last = items.at(-1);
    const item: Item = { author, seq, body: comparable(body) };
    const joined = last && joinTexts(last, item);
    if (joined) items[items.length - 1] = joined;
    else items.push(item);
  }
  return lanes;
}

/** The questions for a login that comes by another way: whether they are shown depends on how long it takes. */
function loginsIn(events: readonly Numbered[]): ReadonlySet<string> {
  const shown = events.flatMap(({ body }) => (body.type === 'status' ? (body.questions ?? []) : []));
  return new Set(shown.map(({ hash }) => hash));
}

/** The call, text or artifact that an event belongs to; the events of turns belong together. */
export function laneOf(author: string | undefined, body: EventBody): string {
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

function joinTexts(last: Item, next: Item): Item | undefined {
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

type LeftOut = Readonly<Record<'from' | 'isLive' | 'asked', unknown>>;

/**
 * Without references, which repeat what is elsewhere, who was watching, the requests, which hold prompts that are not in the
 * record, and the times of questions, and with a bill in one order.
 */
function comparable(body: EventBody): EventBody {
  const { from: _, isLive: __, asked: ___, ...rest } = sorted(body) as EventBody & LeftOut;
  const hasQuestions = rest.type === 'question' || 'questions' in rest || rest.type === 'run-end';
  return hasQuestions ? (withoutExpiry(rest as unknown as Json) as unknown as EventBody) : rest;
}

/** Agents that worked at the same time are on a bill in the order in which they were ready. */
function sorted(body: EventBody): EventBody {
  if (!('usage' in body) || !body.usage.rows) return body;
  const rows = body.usage.rows.toSorted((a, b) => (canonicalJson(a) < canonicalJson(b) ? -1 : 1));
  return { ...body, usage: { ...body.usage, rows } };
}

function withoutExpiry(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutExpiry);
  if (!isJsonObject(value)) return value;
  const { expiresAt: _, ...rest } = value;
  return mapMembers(rest, (member) => withoutExpiry(member as Json));
}
