import { crc32 } from 'node:zlib';
import type { EventType } from '../core/task.js';
import { inflated } from './deflated.js';
import { damagedTask, type EncodedEvent, type StoredEvent } from './rows.js';

/** A row of `events`: some events of one append. Earlier versions wrote a row for each event, in the same form. */
export interface EventRow {
  /** The number of the last event of the row. */
  readonly seq: number;
  readonly at: number;
  /** The author of the last event. */
  readonly author: string | null;
  /** A line for each event: its `EventBody` as JSON, or `[author, body]` when its author differs from that of the row. */
  readonly body: string;
  /** The text of `body` in less room; only of some databases. See deflated.ts. */
  readonly deflated?: Buffer | null;
  /** The same of the earlier rows of its chain, in order; null for a row that needs none. */
  readonly earlier?: readonly Buffer[] | null;
  /** See `checksumOf`. Null in rows that were written before there were checksums. */
  readonly checksum: number | null;
}

/** A row with the id of its task. */
export type TaskEventRow = EventRow & { readonly task: string };

/** The event types that later tasks of the same session read as the conversation. */
const SESSION_TYPES: readonly EventType[] = [
  'message',
  'turn-end',
  'tool-result',
  'delegation-end',
  'run-end',
  'fork',
];
export const SESSION_LIST = SESSION_TYPES.map((type) => `'${type}'`).join(', ');

/** The most events of a row. Readers of some events read this many more, because the rows have the numbers of their last ones. */
export const MAX_ROW_EVENTS = 32;
/** A row that has this many characters gets no more events, so that damage to a row loses little. */
const FULL_ROW_CHARACTERS = 16 * 1024;

/** The columns of a row that its events decide. */
export interface PackedRow extends Pick<EventRow, 'seq' | 'author' | 'body'> {
  /** The first of `SESSION_TYPES` that the row has; without one the type of its last event. */
  readonly type: EventType;
}

/** Puts the events of one append into rows. The first event has the number after `before`. */
export function packed(events: readonly EncodedEvent[], before: number): readonly PackedRow[] {
  const rows: PackedRow[] = [];
  for (let from = 0; from < events.length;) {
    let to = from + 1;
    for (let size = 0; to < events.length && to - from < MAX_ROW_EVENTS; to += 1) {
      size += events[to - 1]!.body.length;
      if (size + events[to]!.body.length > FULL_ROW_CHARACTERS) break;
    }
    rows.push(packedRow(events.slice(from, to), before + to));
    from = to;
  }
  return rows;
}

function packedRow(events: readonly EncodedEvent[], seq: number): PackedRow {
  const { author, type } = events.at(-1)!;
  const lines = events.map((event) =>
    event.author === author ? event.body : `[${JSON.stringify(event.author)},${event.body}]`,
  );
  const ofSession = SESSION_TYPES.find((one) => events.some((event) => event.type === one));
  return { seq, author, body: lines.join('\n'), type: ofSession ?? type };
}

/** The events that rows of `packed` hold, as they are read back. */
export function storedEvents(
  events: readonly EncodedEvent[],
  before: number,
  at: number,
): readonly StoredEvent[] {
  return events.map(({ author, body, whole, parsed }, index) => {
    const seq = before + index + 1;
    return { seq, at, author, body, whole, parsed };
  });
}

const AUTHOR = /^\[(null|"(?:[^"\\]|\\.)*"),/;

/** The events of a row, in order. */
export function eventsIn(row: Omit<EventRow, 'checksum'>): readonly StoredEvent[] {
  const { seq, at, author } = row;
  const body = row.deflated ? inflated(row.deflated, row.earlier) : row.body;
  if (!body.includes('\n') && body.startsWith('{')) return [{ seq, at, author, body }];
  const lines = body.split('\n');
  return lines.map((line, index) => {
    const place = { seq: seq - lines.length + index + 1, at };
    const [prefix, own] = AUTHOR.exec(line) ?? [];
    if (prefix === undefined) return { ...place, author, body: line };
    return { ...place, author: JSON.parse(own!) as string | null, body: line.slice(prefix.length, -1) };
  });
}

/** Computes the CRC-32 of the content of a row. */
export function checksumOf({ seq, at, author, body }: Omit<EventRow, 'checksum'>): number {
  return crc32(`${seq} ${at} ${author ?? ''}${body}`);
}

/** The events of a row, in order. Throws `LangoError` `storage` for a row that differs from what was written. */
export function soundEventsIn(taskId: string, row: EventRow): readonly StoredEvent[] {
  let first = row.seq;
  try {
    const events = eventsIn(row);
    if (row.checksum === null || row.checksum === checksumOf(row)) return events;
    first = events[0]!.seq;
  } catch {
    // Bytes that cannot be inflated.
  }
  throw damagedTask(
    first === row.seq
      ? `Entry ${row.seq} of task ${taskId} is damaged.`
      : `Entries ${first} to ${row.seq} of task ${taskId} are damaged.`,
  );
}

/**
 * Returns the events after `after` in order. The first of the rows may begin with earlier ones. Throws `LangoError`
 * `storage` for a row that is damaged, and for a missing one: the numbers of a task have no gaps.
 */
export function assertUnbroken(
  taskId: string,
  after: number,
  rows: readonly EventRow[],
): readonly StoredEvent[] {
  let last = after;
  return rows
    .toSorted((a, b) => a.seq - b.seq)
    .flatMap((row) => {
      const events = soundEventsIn(taskId, row);
      const later = last === after ? events.filter(({ seq }) => seq > after) : events;
      if (later[0]?.seq !== last + 1) throw damagedTask(`Entry ${last + 1} of task ${taskId} is missing.`);
      last = row.seq;
      return later;
    });
}

/** Whether later tasks of the session read the event as the conversation. */
export function isOfSession(type: EventType): boolean {
  return SESSION_TYPES.includes(type);
}

const FIRST_MEMBER = /^\{"type":"([a-z-]+)"/;

/** Whether an event may be of the conversation, as far as the beginning of its text says: most need not be parsed. */
export function mayBeOfSession({ body }: StoredEvent): boolean {
  const type = FIRST_MEMBER.exec(body)?.[1];
  return type === undefined || isOfSession(type as EventType);
}
