import { all, first, run, type Query } from '../../core/sql.js';
import { keyOfSent, type Inbox, type SentMessage, type TaskContext } from '../task-changes.js';
import { DAY_MS } from '../task-events.js';
import type { TaskRow } from '../rows.js';
import type { SqliteDatabase } from './database.js';

/** The number of new messages that are moved together: the more there are, the more of them share a page of `inbox`. */
const MOVE_AT = 65_536;
/** The number of rows that one transaction moves, and that one removes. */
const MOVED_AT_ONCE = 256;
const REMOVED_AT_ONCE = 1_024;
const KEY_BYTES = 32;
/** The bytes of a key that are kept in memory. */
const PREFIX_BYTES = 4;
/** The most messages that are remembered within a turn of the event loop. */
const MOST_ABSENT = 100;
/** Before the time of any message. */
const NEVER = -1;

const FOUND = 'SELECT (SELECT id FROM tasks WHERE key = task) AS task, seq';
const FIND_MOVED = `${FOUND} FROM inbox WHERE key = ? AND at > ?`;
const FIND_NEW = `${FOUND} FROM recent_inbox WHERE part IN (0, 1) AND task = ? AND key = ? AND at > ?`;
const ADD = 'INSERT INTO recent_inbox (part, task, key, seq, at) VALUES (?, ?, ?, ?, ?)';
/** The first bytes as text: a buffer for each row takes three times as long, while the first message after a start waits. */
const LOAD = `SELECT part, task, hex(substr(key, 1, ${PREFIX_BYTES})) AS prefix FROM recent_inbox`;
const INTO_INBOX = 'INSERT INTO inbox (key, task, seq, at) SELECT new.key, new.task, new.seq, new.at';
/** A message id may be forgotten and come again as another task. */
const NEWER_WINS = `ON CONFLICT DO UPDATE SET task = excluded.task, seq = excluded.seq, at = excluded.at
  WHERE excluded.at >= inbox.at`;
/** Moves the messages of these tasks whose keys are in a range. */
const MOVE = `${INTO_INBOX} FROM json_each(?) AS item CROSS JOIN recent_inbox AS new
  WHERE part = ? AND new.task = item.value AND new.key BETWEEN ? AND ? ORDER BY new.key ${NEWER_WINS}`;
const REMOVE = `DELETE FROM recent_inbox WHERE (part, task, key) IN
  (SELECT part, task, key FROM recent_inbox WHERE part = ? LIMIT ${REMOVED_AT_ONCE})`;
const FORGET_MOVED = 'DELETE FROM inbox WHERE key = ? AND task = ?';
const FORGET_NEW = 'DELETE FROM recent_inbox WHERE part IN (0, 1) AND key = ? AND task = ?';
/** Moves all. For a database that no server uses. */
export const MOVE_ALL = `${INTO_INBOX} FROM recent_inbox AS new WHERE true ORDER BY new.key ${NEWER_WINS};
  DELETE FROM recent_inbox;`;

/** The tasks of messages, by the first bytes of their keys. May have some that were not stored. */
type Tasks = Map<number, number | readonly number[]>;

interface InboxOptions {
  /** The time after which the id of a message without a context is forgotten. Default: a day. */
  readonly knownMs?: number | undefined;
  /** Default: 65,536. */
  readonly moveAt?: number;
}

/**
 * Keys are hashes, so each new row of `inbox` would change another page, which costs more than all the rest of a message.
 * New messages are therefore rows of `recent_inbox`, in the order of their tasks, and are found by a part of their keys that
 * is kept in memory. When there are many, they are moved to `inbox` in the order of the keys. Meanwhile the other part of
 * `recent_inbox` gets new ones.
 */
export class SqliteInbox implements Inbox {
  readonly #database: SqliteDatabase;
  readonly #knownMs: number;
  readonly #moveAt: number;
  /** The messages of the part that gets new ones; undefined until the first message. */
  #recent: Tasks | undefined;
  /** The messages of the part that is moved; undefined while none is. */
  #moving: Tasks | undefined;
  #part = 0;
  #isMoving = false;
  /** Messages that `inbox` did not have in this turn of the event loop. A `WeakMap` would cost more than the look. */
  #absent: { readonly sent: SentMessage; readonly key: Buffer }[] = [];

  constructor(database: SqliteDatabase, { knownMs = DAY_MS, moveAt = MOVE_AT }: InboxOptions = {}) {
    this.#database = database;
    this.#knownMs = knownMs;
    this.#moveAt = moveAt;
  }

  find(sent: SentMessage): ReturnType<Inbox['find']> {
    return this.#find(sent, keyOfSent(sent), this.#database.clock());
  }

  *add(
    sent: SentMessage,
    task: Pick<TaskRow, 'key' | 'head'>,
    { now }: Pick<TaskContext, 'now'>,
  ): Query<number> {
    const key = this.#keyOf(sent);
    if (yield* this.#find(sent, key, now)) return 0;
    const recent = (this.#recent ??= yield* this.#load());
    note(recent, prefixOf(key), task.key);
    yield* run(ADD, this.#part, task.key, key, task.head, now);
    if ((this.#moving || recent.size >= this.#moveAt) && !this.#isMoving) void this.#move();
    return 1;
  }

  *forget(key: Buffer, task: number): Query<void> {
    yield* run(FORGET_MOVED, key, task);
    yield* run(FORGET_NEW, key, task);
  }

  *#find(sent: SentMessage, key: Buffer, now: number): ReturnType<Inbox['find']> {
    const { givenContextId = '' } = sent;
    const forgotten = givenContextId === '' ? now - this.#knownMs : NEVER;
    this.#recent ??= yield* this.#load();
    for (const tasks of [this.#recent, this.#moving])
      for (const task of tasksOf(tasks, prefixOf(key))) {
        const found = yield* first<{ task: string | null; seq: number }>(FIND_NEW, task, key, forgotten);
        if (found) return found;
      }
    if (this.#absent.some((one) => one.key === key)) return undefined;
    const found = yield* first<{ task: string | null; seq: number }>(FIND_MOVED, key, forgotten);
    if (!found) this.#noteAbsent({ sent, key });
    return found;
  }

  #keyOf(sent: SentMessage): Buffer {
    return this.#absent.find((one) => one.sent === sent)?.key ?? keyOfSent(sent);
  }

  #noteAbsent(absent: { readonly sent: SentMessage; readonly key: Buffer }): void {
    if (this.#absent.length === 0) setImmediate(() => (this.#absent = []));
    if (this.#absent.length < MOST_ABSENT) this.#absent.push(absent);
  }

  /** Reads both parts. The one with the newest task goes on to get new messages. */
  *#load(): Query<Tasks> {
    const parts: readonly [Tasks, Tasks] = [new Map(), new Map()];
    let newest = 0;
    for (const { part, task, prefix } of yield* all<{ part: 0 | 1; task: number; prefix: string }>(LOAD)) {
      note(parts[part], Number.parseInt(prefix, 16) | 0, task);
      if (task >= newest) this.#part = part;
      newest = Math.max(newest, task);
    }
    const other = parts[1 - this.#part]!;
    if (other.size > 0) this.#moving = other;
    return parts[this.#part]!;
  }

  /** Moves a part, in many transactions. Each may be repeated, so an interruption loses nothing: the next call continues. */
  async #move(): Promise<void> {
    this.#isMoving = true;
    try {
      if (!this.#moving) {
        this.#moving = this.#recent;
        this.#recent = new Map();
        this.#part = 1 - this.#part;
      }
      const part = 1 - this.#part;
      for (const values of rangesOf(this.#moving!))
        await this.#database.write('inbox', () => run(MOVE, values.tasks, part, values.from, values.to));
      this.#absent = [];
      this.#moving = undefined;
      while ((await this.#database.write('inbox', () => run(REMOVE, part))) > 0);
    } catch {
      // The database is closed, or failed and has said so. What was not moved is found where it is.
    }
    this.#isMoving = false;
  }
}

function prefixOf(key: Buffer): number {
  return key.readInt32BE(0);
}

function note(tasks: Tasks, prefix: number, task: number): void {
  const known = tasksOf(tasks, prefix);
  if (known.includes(task)) return;
  tasks.set(prefix, known.length === 0 ? task : [...known, task]);
}

const NONE: readonly number[] = [];

function tasksOf(tasks: Tasks | undefined, prefix: number): readonly number[] {
  const found = tasks?.get(prefix);
  if (found === undefined) return NONE;
  return typeof found === 'number' ? [found] : found;
}

/** Yields some of the tasks at a time, in the order of the keys, with the first and the last key that they may have. */
function* rangesOf(tasks: Tasks): Generator<{ tasks: string; from: Buffer; to: Buffer }> {
  const prefixes = Uint32Array.from(tasks.keys()).sort();
  for (let at = 0; at < prefixes.length; at += MOVED_AT_ONCE) {
    const some = prefixes.subarray(at, at + MOVED_AT_ONCE);
    const of = [...new Set([...some].flatMap((prefix) => tasks.get(prefix | 0)!))];
    yield { tasks: JSON.stringify(of), from: bound(some[0]!, 0), to: bound(some.at(-1)!, 0xff) };
  }
}

/** The key with these first bytes whose other bytes are all the same. */
function bound(prefix: number, rest: number): Buffer {
  const key = Buffer.alloc(KEY_BYTES, rest);
  key.writeUIntBE(prefix, 0, PREFIX_BYTES);
  return key;
}
