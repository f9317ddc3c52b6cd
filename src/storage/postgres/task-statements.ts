import { LEASE_MS, LEASE_RENEW_MS, type Fence } from '../../stores/tasks.js';
import { all, column, first, run, type Query } from '../../core/sql.js';
import { isTerminal } from '../../core/task.js';
import { deflated, type Chain } from '../deflated.js';
import { packed, type PackedRow } from '../event-rows.js';
import type { EncodedBatch, TaskRow } from '../rows.js';
import { keyOfSent, type Inbox, type SentMessage } from '../task-changes.js';
import { LIVE, TASK_COLUMNS } from '../task-sql.js';
import type { QueuedStatements } from './statement-queue.js';

const NUMBERS: readonly string[] = ['level', 'head', 'expires_at'];

/** The clock, read once per statement, so that `clock.now` is the same in all of its parts. */
const CLOCK = 'clock AS MATERIALIZED (SELECT lango_now() AS now)';

/** The columns of an accepted task, with what its other rows need. */
const ACCEPTED_COLUMNS = TASK_COLUMNS.map(
  (column) => `${column} ${NUMBERS.includes(column) ? 'bigint' : 'text'}`,
);

/**
 * Accepts messages in one statement: inbox rows, tasks and first events. Returns no row for a message that was sent before.
 * The tasks get their keys in the order of their ids, which rise with time.
 */
const ACCEPT = `
  WITH ${CLOCK}, sent AS MATERIALIZED (
    SELECT * FROM json_to_recordset(CAST(@tasks AS json))
      AS sent(${ACCEPTED_COLUMNS.join(', ')}, inbox text, known_ms bigint, leased boolean, ended boolean, events json)
  ), received AS (
    INSERT INTO inbox (key, task, seq, at) SELECT decode(inbox, 'hex'), id, 1, now FROM sent, clock
    ON CONFLICT (key) DO UPDATE
      SET task = excluded.task, seq = excluded.seq, at = excluded.at
      WHERE inbox.at <= excluded.at - (SELECT known_ms FROM sent WHERE id = excluded.task)
    RETURNING task
  ), task AS (
    INSERT INTO tasks (${TASK_COLUMNS.join(', ')},
      status_at, created_at, epoch, lease_until, crashes, cancel_requested, ended_before)
    SELECT ${TASK_COLUMNS.join(', ')},
      now, now, 1, CASE WHEN leased THEN now + ${LEASE_MS} ELSE 0 END, 0, 0,
      CASE WHEN ended THEN (SELECT last_value + 1 FROM tasks_key_seq) END
    FROM sent, clock WHERE id IN (SELECT task FROM received) ORDER BY id COLLATE "C"
    RETURNING key, id, created_at
  ), added AS (
    INSERT INTO events (task, seq, at, author, type, body)
    SELECT task.key, e.seq, task.created_at, e.author, e.type, e.body
    FROM task JOIN sent USING (id), json_to_recordset(events) AS e(seq bigint, author text, type text, body text)
  )
  SELECT id, key, created_at FROM task`;

/** A message to accept, as `ACCEPT` takes it: the columns of its task, and what its other rows need. */
export interface Acceptance extends Pick<TaskRow, (typeof TASK_COLUMNS)[number]> {
  /** The key of the message, in hexadecimal digits. */
  readonly inbox: string;
  /** The time after which the message is forgotten; null for one that names a context. */
  readonly known_ms: number | null;
  readonly leased: boolean;
  readonly ended: boolean;
  readonly events: readonly PackedRow[];
}

export type AcceptedRow = Pick<TaskRow, 'id' | 'key' | 'created_at'>;

/** Accepts messages. The result of one that was sent before is undefined. */
export function* acceptAll(tasks: readonly Acceptance[]): Query<readonly (AcceptedRow | undefined)[]> {
  const text = JSON.stringify(tasks);
  // Only characters that no text of PostgreSQL holds are written so, and those of the events, which are JSON already.
  const sent = text.includes('\\u') ? JSON.stringify(tasks, asText) : text;
  const found = new Map<string, AcceptedRow>();
  for (const row of yield* all<AcceptedRow>(ACCEPT, { tasks: sent })) found.set(row.id, row);
  return tasks.map(({ id }) => found.get(id));
}

export const ACCEPTS: QueuedStatements<Acceptance, AcceptedRow | undefined> = {
  isOrdered: true,
  keyOf: ({ inbox }) => inbox,
  charactersOf: ({ events }) => charactersIn(events),
  run: acceptAll,
};

function charactersIn(events: readonly { readonly body: string }[]): number {
  return events.reduce((sum, { body }) => sum + body.length, 0);
}

/** Replaces U+0000 and halves of surrogate pairs, which JSON keeps and PostgreSQL refuses, as in any other parameter. */
function asText(_name: string, value: unknown): unknown {
  return typeof value === 'string' ? value.replaceAll('\0', '\ufffd').toWellFormed() : value;
}

interface Append {
  readonly fence: Fence;
  readonly batch: EncodedBatch;
}

/** Returns a row for each append that its fence allowed. See migrations.ts. */
const APPEND = `SELECT item, new_head AS head, at AS now FROM lango_append(${LEASE_MS}, @ids, @epochs, @counts, @steps,
  @states, @messages, @expiries, @run_ends, @task_ends, @items, @seqs, @authors, @types, @bodies, @deflated)`;

/** The chains of the rows that were written with a fence. Only who has the fence writes rows of a chain. See ../deflated.ts. */
const CHAINS = new WeakMap<Fence, Chain>();

/** The task after an append, with times by the store's clock. */
interface Appended extends Pick<TaskRow, 'head'> {
  readonly now: number;
}

/** The rows of an append, and the chain after them. */
function appendRows({ fence, batch }: Append) {
  let chain = CHAINS.get(fence) ?? [];
  const rows = packed(batch.events, 0).map((row) => {
    const [short, next] = deflated(row, chain);
    chain = next;
    return { ...row, ...short };
  });
  return { fence, batch, rows, chain };
}

/** Makes appends to one task each. The result of one whose task has another epoch, or has ended, is undefined. */
export function* appendAll(appends: readonly Append[]): Query<readonly (Appended | undefined)[]> {
  const packed = appends.map(appendRows);
  const found = new Map<number, Appended>();
  for (const row of yield* all<Appended & { readonly item: number }>(APPEND, appendValues(packed)))
    found.set(row.item, row);
  return packed.map(({ fence, chain }, index) => {
    const appended = found.get(index + 1);
    if (appended) CHAINS.set(fence, chain);
    return appended;
  });
}

export const APPENDS: QueuedStatements<Append, Appended | undefined> = {
  isOrdered: false,
  keyOf: ({ fence }) => fence.taskId,
  charactersOf: ({ batch }) => charactersIn(batch.events),
  run: appendAll,
};

/** The values of `APPEND`: a list for each column of the appends, and of the rows of their events. */
function appendValues(appends: readonly ReturnType<typeof appendRows>[]) {
  const rows = appends.flatMap((append, index) => append.rows.map((row) => ({ ...row, item: index + 1 })));
  const changes = appends.map(({ batch }) => batch.change);
  const flag = (value: boolean) => (value ? 1 : 0);
  return {
    ids: appends.map(({ fence }) => fence.taskId),
    epochs: appends.map(({ fence }) => fence.epoch),
    counts: appends.map(({ batch }) => batch.events.length),
    steps: changes.map(({ isStep }) => flag(isStep)),
    states: changes.map(({ state = null }) => state),
    messages: changes.map(({ statusMessage }) => statusMessage),
    expiries: changes.map(({ expiresAt = null }) => expiresAt),
    run_ends: changes.map(({ endsRun }) => flag(endsRun)),
    task_ends: changes.map(({ state }) => flag(state !== undefined && isTerminal(state))),
    items: rows.map(({ item }) => item),
    seqs: rows.map(({ seq }) => seq),
    authors: rows.map(({ author }) => author),
    types: rows.map(({ type }) => type),
    bodies: rows.map(({ body }) => body),
    deflated: rows.map((row) => row.deflated),
  };
}

/** A lease that ends this soon was not renewed for two renewals: by none, and by no append. */
const STALE = `lease_until <= lango_now() + ${LEASE_MS - 2 * LEASE_RENEW_MS}`;

/**
 * Writes the leases that no append has renewed of late, and always the first one: it shows that the process lives. Locks the
 * tasks in the order of their ids, like all writers, so that none of them wait for each other.
 */
export const RENEW = `
  WITH mine AS (
    SELECT id, head, id = min(id) OVER () OR ${STALE} AS is_due FROM tasks
    WHERE id = ANY(@ids::text[]) AND lease_by = @worker
  ), due AS (
    SELECT id FROM tasks WHERE id IN (SELECT id FROM mine WHERE is_due) ORDER BY id FOR UPDATE
  ), renewed AS (
    UPDATE tasks SET lease_until = lango_now() + ${LEASE_MS} FROM due WHERE tasks.id = due.id AND lease_by = @worker
    RETURNING tasks.id, head
  )
  SELECT id, head FROM renewed UNION ALL SELECT id, head FROM mine WHERE NOT is_due`;

/** Registers a worker name of this process, with the number of the lock that the process holds while it lives. */
export const ADD_WORKER = `
  INSERT INTO workers (name, lock, since) VALUES (@name, @lock, lango_now())
  ON CONFLICT (name) DO UPDATE SET lock = excluded.lock, since = excluded.since`;

/** The time that earlier workers have, after a start of PostgreSQL, to take their locks again. */
const GRACE_MS = 5_000;

/**
 * Frees the leases of workers whose process has ended: its lock is free, because the connection ended, and its leases are
 * not renewed any more. A process that lost only this connection still renews its leases, and takes its lock again. A
 * restart of PostgreSQL frees all locks, so earlier workers get some time to take theirs.
 */
export const FREE_DEAD = `
  WITH server AS (SELECT extract(epoch FROM pg_postmaster_start_time()) * 1000 AS started), unlocked AS (
    SELECT name, lock FROM workers, server
    WHERE (since > started OR lango_now() > started + ${GRACE_MS}) AND NOT EXISTS (
      SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = @class AND objid = workers.lock::oid
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
  ), dead AS (
    DELETE FROM workers USING unlocked
    WHERE workers.name = unlocked.name AND workers.lock = unlocked.lock AND NOT EXISTS (
      SELECT 1 FROM tasks WHERE ${LIVE} AND lease_by = workers.name AND NOT ${STALE})
    RETURNING workers.name
  ), tasks AS (
    UPDATE tasks SET epoch = epoch + 1, lease_by = NULL, lease_until = 0, crashes = crashes + 1
    WHERE ${LIVE} AND lease_by IN (SELECT name FROM dead)
  ), pushes AS (
    UPDATE push_configs SET lease_by = NULL, lease_until = 0 WHERE lease_by IN (SELECT name FROM dead)
  )
  SELECT name FROM dead`;

/** The keys of new messages, each of which is looked for and then stored. */
const KEYS = new WeakMap<SentMessage, string>();

export function keptKeyOf(sent: SentMessage): string {
  const key = KEYS.get(sent) ?? keyOfSent(sent);
  KEYS.set(sent, key);
  return key;
}

const KNOWN = "SELECT encode(key, 'hex') FROM inbox WHERE key = ANY(@keys::bytea[])";

/** Whether messages with these keys may have been sent before: nearly none of them was. */
export const LOOKUPS: QueuedStatements<string, boolean> = {
  isOrdered: false,
  keyOf: (key) => key,
  charactersOf: (key) => key.length,
  *run(keys) {
    const known = yield* column<string>(KNOWN, { keys: keys.map((key) => `\\x${key}`) });
    return keys.map((key) => known.includes(key));
  },
};

/** Makes the inbox. It forgets the ids of messages without a context after `knownMs` of the database's clock. */
export const inboxOf = (knownMs: number): Inbox => ({
  find(sent) {
    const sql = `SELECT task, seq FROM inbox
      WHERE key = decode(?, 'hex') AND (CAST(? AS INTEGER) = 1 OR at > lango_now() - CAST(? AS BIGINT))`;
    return first(sql, keptKeyOf(sent), (sent.givenContextId ?? '') === '' ? 0 : 1, knownMs);
  },
  add(sent, { id, head }, { now }) {
    const sql = "INSERT INTO inbox (key, task, seq, at) VALUES (decode(?, 'hex'), ?, ?, ?)";
    return run(sql, keptKeyOf(sent), id, head, now);
  },
});

/** Removes a message by its key, unless it has become another task since. */
export const forgetMessage = (key: string, { id }: Pick<TaskRow, 'id'>): Query<number> =>
  run("DELETE FROM inbox WHERE key = decode(?, 'hex') AND task = ?", key, id);
