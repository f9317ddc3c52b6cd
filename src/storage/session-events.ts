import { BoundedCache } from '../core/bounded-cache.js';
import { freezeData } from '../core/json.js';
import { all, type Query } from '../core/sql.js';
import type { TaskEvent } from '../core/task.js';
import type { TaskHead, TaskStore } from '../stores/tasks.js';
import { isOfSession, mayBeOfSession, soundEventsIn, type TaskEventRow } from './event-rows.js';
import { originOf, sharedEvents } from './forks.js';
import { toTaskEvent } from './rows.js';
import type { TaskSql } from './task-sql.js';

/** The events of a task that later tasks read as the conversation. */
interface Said {
  /** Newest first. Nobody can change them. */
  readonly events: TaskEvent[];
  /** The length of their texts; infinite if they depend on another task. */
  characters: number;
}

interface Kept extends Said, TaskHead {}

interface Session {
  readonly after: string;
  readonly limit: number;
}

const MAX_CHARACTERS = 1024 * 1024;
const MAX_TASK_CHARACTERS = 128 * 1024;

/**
 * The events of the tasks that were read last: each message of a conversation reads the newest ones again. Which tasks the
 * conversation has now, and how far each of them is, is read from the database each time.
 */
export class SessionCache extends BoundedCache<string, Kept> {
  constructor() {
    super(MAX_CHARACTERS);
  }
}

/** See `TaskStore.readSession`. Without a cache all events are read, in one statement. */
export function* sessionEvents(
  sql: TaskSql,
  [task, limit, { after = '', unfinished = false } = {}]: Parameters<TaskStore['readSession']>,
  cache: SessionCache | undefined,
): Query<readonly TaskEvent[]> {
  const { contextId, agent, owner, tenant, id } = yield* originOf(sql, task);
  const session = { contextId, agent, owner, tenant, id, after, unfinished: unfinished ? 1 : 0, limit };
  const said = cache
    ? yield* readNewTasks(sql, session, cache)
    : (yield* readTasks(sql, session)).tasks.values();
  const newestFirst = [...said].flatMap(({ events }) => events);
  return newestFirst.slice(0, limit).reverse();
}

/** Reads the tasks after the newest kept one. Reads all when an earlier one is not kept. */
function* readNewTasks(sql: TaskSql, session: Session, kept: SessionCache): Query<readonly Said[]> {
  const heads = yield* all<TaskHead>(sql.sessionHeads, session);
  const known = knownAmong(heads, session.limit, kept);
  const { tasks, isCut } = yield* readTasks(sql, { ...session, after: known[0]?.id ?? session.after });
  const read = [...tasks.keys()];
  const whole = new Set(isCut ? read.slice(0, -1) : read);
  for (const { id, head } of heads) {
    const said = tasks.get(id);
    if (said && whole.has(id) && said.characters <= MAX_TASK_CHARACTERS)
      kept.set(id, { ...said, id, head }, said.characters);
  }
  return [...tasks.values(), ...known];
}

/** The newest kept task and those before it, as many as the limit needs; none when one of them is not kept as it is now. */
function knownAmong(heads: readonly TaskHead[], limit: number, kept: SessionCache) {
  const isKept = ({ id, head }: TaskHead) => kept.get(id)?.head === head;
  const newest = heads.findIndex(isKept);
  const known: Kept[] = [];
  let count = 0;
  for (const head of newest === -1 ? [] : heads.slice(newest)) {
    if (count >= limit) break;
    if (!isKept(head)) return [];
    const one = kept.get(head.id)!;
    known.push(one);
    count += one.events.length;
  }
  return known;
}

/** Reads tasks, the newest first. `isCut`: the last one may have more events. */
function* readTasks(
  sql: TaskSql,
  session: Session,
): Query<{ readonly tasks: ReadonlyMap<string, Said>; readonly isCut: boolean }> {
  const rows = yield* all<TaskEventRow>(sql.sessionEvents, session);
  const tasks = new Map<string, Said>();
  let count = 0;
  for (const row of rows) {
    if (count >= session.limit) break;
    const said = tasks.get(row.task) ?? { events: [], characters: 0 };
    tasks.set(row.task, said);
    const before = said.events.length;
    for (const event of soundEventsIn(row.task, row).toReversed()) {
      if (!mayBeOfSession(event)) continue;
      const parsed = freezeData(toTaskEvent(row.task, event));
      const isFork = parsed.body.type === 'fork';
      const read = isFork ? (yield* sharedEvents(sql, row.task)).toReversed() : [parsed];
      said.events.push(...read.filter(({ body }) => isOfSession(body.type)));
      said.characters += isFork ? Infinity : event.body.length;
    }
    count += said.events.length - before;
  }
  return { tasks, isCut: count >= session.limit || rows.length >= session.limit };
}
