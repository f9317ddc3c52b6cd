import { all, first, run, type Query } from '../../core/sql.js';
import { keyOfSent, type Inbox, type Received, type SentMessage, type TaskContext } from '../task-changes.js';
import { DAY_MS, type TaskRow } from '../rows.js';
import type { SqliteDatabase } from './database.js';

/** The number of new messages that are moved together: the more there are, the more of them share a page of `inbox`. */
const MOVE_AT = 65_536;
/** The number of rows that one transaction moves. */
const MOVED_AT_ONCE = 512;
/** The hexadecimal digits of a key that are kept in memory as a number. */
const PREFIX_DIGITS = 8;
const KEY_DIGITS = 64;
/** The most messages that are remembered within a turn of the event loop. */
const MOST_ABSENT = 100;
/** Before the time of any message. */
const NEVER = -1;

const FIND_MOVED = `SELECT (SELECT id FROM tasks WHERE key = task) AS task, seq
  FROM inbox WHERE key = unhex(?) AND at > ?`;
const FIND_NEW =
  'SELECT id AS task, 1 AS seq FROM tasks WHERE key = ? AND sent = unhex(?) AND created_at > ?';
/** A message id may be forgotten and come again as another task. */
const NEWER_WINS = `ON CONFLICT DO UPDATE SET task = excluded.task, seq = excluded.seq, at = excluded.at
  WHERE excluded.at >= inbox.at`;
const ADD = `INSERT INTO inbox (key, task, seq, at) VALUES (unhex(?), ?, ?, ?) ${NEWER_WINS}`;
/** The largest key of a task whose message is in `inbox`, and those of all earlier tasks. */
const MOVED = "SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'inbox_moved'";
const NOTE_MOVED = "INSERT OR REPLACE INTO meta (key, value) VALUES ('inbox_moved', ?)";
const NEW = `FROM tasks WHERE sent IS NOT NULL AND tasks.key > coalesce((${MOVED}), 0)`;
const LOAD = `SELECT key, hex(substr(sent, 1, ${PREFIX_DIGITS / 2})) AS prefix ${NEW}`;
const INTO_INBOX = 'INSERT INTO inbox (key, task, seq, at) SELECT sent, tasks.key, 1, created_at';
const MOVE = `${INTO_INBOX} FROM json_each(?) AS item CROSS JOIN tasks
  WHERE tasks.key = item.value AND sent BETWEEN unhex(?) AND unhex(?) ORDER BY sent ${NEWER_WINS}`;
/** Moves all. For a database that no server uses. */
export const MOVE_ALL = `${INTO_INBOX} ${NEW} ORDER BY sent ${NEWER_WINS}`;
const FORGET = 'DELETE FROM inbox WHERE key = unhex(?) AND task = ?';

/**
 * The tasks of messages, by the first digits of their keys. May have some that were not stored. A flat table with more than
 * half of its places free: for each look, a large `Map` waits for memory three times.
 */
class Tasks {
  #prefixes = new Uint32Array(FEWEST_PLACES);
  /** The keys of the tasks. Zero: a free place. */
  #tasks = new Float64Array(FEWEST_PLACES);
  size = 0;

  add(prefix: number, task: number): void {
    if (this.size * 2 >= this.#tasks.length) this.#grow();
    const last = this.#tasks.length - 1;
    let at = prefix & last;
    for (; this.#tasks[at] !== 0; at = (at + 1) & last)
      if (this.#tasks[at] === task && this.#prefixes[at] === prefix) return;
    this.#prefixes[at] = prefix;
    this.#tasks[at] = task;
    this.size += 1;
  }

  of(prefix: number): readonly number[] {
    const last = this.#tasks.length - 1;
    let found = NONE;
    for (let at = prefix & last; this.#tasks[at] !== 0; at = (at + 1) & last)
      if (this.#prefixes[at] === prefix) found = [...found, this.#tasks[at]!];
    return found;
  }

  /** The first digits in order. Those of several tasks come several times. */
  prefixes(): Uint32Array {
    return this.#prefixes.filter((_, at) => this.#tasks[at] !== 0).sort();
  }

  #grow(): void {
    const [prefixes, tasks] = [this.#prefixes, this.#tasks];
    this.#prefixes = new Uint32Array(prefixes.length * 2);
    this.#tasks = new Float64Array(tasks.length * 2);
    this.size = 0;
    tasks.forEach((task, at) => task !== 0 && this.add(prefixes[at]!, task));
  }
}

const NONE: readonly number[] = [];
/** A power of two. */
const FEWEST_PLACES = 1_024;

interface InboxOptions {
  /** The time after which the id of a message without a context is forgotten. Default: a day. */
  readonly knownMs?: number | undefined;
  /** Default: 65,536. */
  readonly moveAt?: number;
}

/**
 * Keys are hashes, so each new row of `inbox` changes another page, which costs more than all the rest of a message. The
 * keys of messages that made new tasks are therefore kept in the rows of these tasks, and found by a part that is kept in
 * memory. When there are many, they are copied to `inbox` in the order of the keys.
 */
export class SqliteInbox implements Inbox {
  readonly #database: SqliteDatabase;
  readonly #knownMs: number;
  readonly #moveAt: number;
  /** The messages of the newest tasks; undefined until the first message. */
  #recent: Tasks | undefined;
  /** The messages that are moved, of all tasks up to the last one; undefined while none are. */
  #moving: { readonly tasks: Tasks; readonly last: number } | undefined;
  #isMoving = false;
  /** Messages that were not found in this turn of the event loop. A `WeakMap` would cost more than the look. */
  #absent: { readonly sent: SentMessage; readonly key: string }[] = [];

  constructor(database: SqliteDatabase, { knownMs = DAY_MS, moveAt = MOVE_AT }: InboxOptions = {}) {
    this.#database = database;
    this.#knownMs = knownMs;
    this.#moveAt = moveAt;
  }

  // eslint-disable-next-line require-yield
  *find(sent: SentMessage): ReturnType<Inbox['find']> {
    return this.#find(sent, keyOfSent(sent));
  }

  /** Whether the message was sent before. Call it in a read or a commit. */
  has(sent: SentMessage): boolean {
    return this.#find(sent, keyOfSent(sent)) !== undefined;
  }

  *add(
    sent: SentMessage,
    task: Pick<TaskRow, 'key' | 'head'>,
    { now }: Pick<TaskContext, 'now'>,
  ): Query<void> {
    const key = this.#keyOf(sent);
    this.#absent = this.#absent.filter((one) => one.key !== key);
    yield* run(ADD, key, task.key, task.head, now);
  }

  /** Returns the key to be stored with a new task; undefined for a message that was sent before. Call it in a commit. */
  addNew(sent: SentMessage, task: number): string | undefined {
    const key = this.#keyOf(sent);
    if (this.#find(sent, key)) return undefined;
    const recent = (this.#recent ??= this.#load());
    recent.add(prefixOf(key), task);
    if (this.#isMoving) return key;
    if (!this.#moving && recent.size >= this.#moveAt) {
      this.#moving = { tasks: recent, last: task };
      this.#recent = new Tasks();
    }
    if (this.#moving) void this.#move(this.#moving);
    return key;
  }

  *forget(key: string, task: number): Query<void> {
    yield* run(FORGET, key, task);
  }

  #find(sent: SentMessage, key: string): Received | undefined {
    const database = this.#database;
    const forgotten = (sent.givenContextId ?? '') === '' ? database.clock() - this.#knownMs : NEVER;
    this.#recent ??= this.#load();
    const prefix = prefixOf(key);
    for (const tasks of [this.#recent, this.#moving?.tasks])
      for (const task of tasks?.of(prefix) ?? NONE) {
        const found = database.run(first<Received>(FIND_NEW, task, key, forgotten));
        if (found) return found;
      }
    if (this.#absent.some((one) => one.key === key)) return undefined;
    const found = database.run(first<Received>(FIND_MOVED, key, forgotten));
    if (!found) this.#noteAbsent({ sent, key });
    return found;
  }

  #keyOf(sent: SentMessage): string {
    return this.#absent.find((one) => one.sent === sent)?.key ?? keyOfSent(sent);
  }

  #noteAbsent(absent: { readonly sent: SentMessage; readonly key: string }): void {
    if (this.#absent.length === 0) setImmediate(() => (this.#absent = []));
    if (this.#absent.length < MOST_ABSENT) this.#absent.push(absent);
  }

  #load(): Tasks {
    const tasks = new Tasks();
    for (const { key, prefix } of this.#database.run(all<{ key: number; prefix: string }>(LOAD)))
      tasks.add(Number.parseInt(prefix, 16), key);
    return tasks;
  }

  /** Moves in many transactions. Each may be repeated, so an interruption loses nothing: the next move begins anew. */
  async #move({ tasks, last }: { readonly tasks: Tasks; readonly last: number }): Promise<void> {
    this.#isMoving = true;
    try {
      for (const { of, from, to } of rangesOf(tasks))
        await this.#database.write('inbox', () => run(MOVE, of, from, to));
      await this.#database.write('inbox', () => run(NOTE_MOVED, String(last)));
      this.#absent = [];
      this.#moving = undefined;
    } catch {
      // The database is closed, or failed and has said so. What was not moved is found where it is.
    }
    this.#isMoving = false;
  }
}

function prefixOf(key: string): number {
  return Number.parseInt(key.slice(0, PREFIX_DIGITS), 16);
}

/** Yields some of the tasks at a time, in the order of the keys, with the first and the last key that they may have. */
function* rangesOf(tasks: Tasks): Generator<{ of: string; from: string; to: string }> {
  const prefixes = tasks.prefixes();
  for (let at = 0; at < prefixes.length; at += MOVED_AT_ONCE) {
    const some = prefixes.subarray(at, at + MOVED_AT_ONCE);
    const of = [...new Set([...some].flatMap((prefix) => tasks.of(prefix)))];
    yield { of: JSON.stringify(of), from: bound(some[0]!, '0'), to: bound(some.at(-1)!, 'f') };
  }
}

/** The key with these first digits whose other digits are all the same. */
function bound(prefix: number, rest: string): string {
  return prefix.toString(16).padStart(PREFIX_DIGITS, '0').padEnd(KEY_DIGITS, rest);
}
