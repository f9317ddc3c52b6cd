import { textPart } from '../core/message.js';
import { all, type Query } from '../core/sql.js';
import type { Origin } from '../core/origin.js';
import { activityOf } from '../core/activity.js';
import type { EventBody, TaskEvent } from '../core/task.js';
import { soundEventsIn, type TaskEventRow } from './event-rows.js';
import { toTaskEvent, type StoredEvent } from './rows.js';
import type { TaskSql } from './task-sql.js';

/** Finds the body of an entry; undefined for one that is missing or damaged. */
type Find = (task: string, seq: number) => EventBody | undefined;

/**
 * Parses events of a task. Reads the content of those that repeat entries of other tasks, in one query for all.
 * A content that is missing or damaged there is replaced by a sentence that says so.
 */
export function* withContents(
  sql: TaskSql,
  taskId: string,
  stored: readonly StoredEvent[],
): Query<readonly TaskEvent[]> {
  const events = stored.map((event) => toTaskEvent(taskId, event));
  const origins = events.map(({ body }) => missingContent(body)).filter((origin) => origin !== undefined);
  if (origins.length === 0) return events;
  const found = yield* all<TaskEventRow>(sql.origins, taskId, JSON.stringify(joined(origins)));
  const bodies = new Map(found.flatMap((row) => [...bodiesOf(row)]));
  const find: Find = (task, seq) => bodies.get(placeOf(task, seq));
  return events.map((event) => {
    const origin = missingContent(event.body);
    return origin ? { ...event, body: filled(event.body, origin, find) } : event;
  });
}

/** Returns the entries that hold the content of this one; undefined if it holds its content itself. */
function missingContent(body: EventBody): Origin | undefined {
  if (!('from' in body) || !body.from) return undefined;
  const content: unknown =
    body.type === 'activity' ? body.activity : body.type === 'artifact' ? body.artifact.parts : body.text;
  return content === undefined ? body.from : undefined;
}

/** Joins ranges of entries that follow each other or overlap, so that no row is read twice. */
function joined(origins: readonly Origin[]): readonly Origin[] {
  const spans: [task: string, first: number, last: number][] = [];
  for (const [task, first, last] of origins.toSorted(([a, i], [b, j]) => (a < b ? -1 : a > b ? 1 : i - j))) {
    const open = spans.at(-1);
    if (open?.[0] === task && first <= open[2] + 1) open[2] = Math.max(open[2], last);
    else spans.push([task, first, last]);
  }
  return spans;
}

function placeOf(task: string, seq: number): string {
  return `${seq} ${task}`;
}

/** Lists the bodies of a row by their places. Empty for a damaged row. */
function bodiesOf(row: TaskEventRow): readonly (readonly [place: string, body: EventBody])[] {
  try {
    return soundEventsIn(row.task, row)
      .map((event) => [placeOf(row.task, event.seq), toTaskEvent(row.task, event).body] as const)
      .filter(([, body]) => !missingContent(body));
  } catch {
    return [];
  }
}

function filled(body: EventBody, [task, first, last, begin = 0, end]: Origin, find: Find): EventBody {
  const found = find(task, first);
  switch (body.type) {
    case 'text-delta': {
      const seqs = Array.from({ length: last - first + 1 }, (_, index) => first + index);
      const texts = seqs.map((seq) => {
        const from = seq === first ? begin : 0;
        const text = textIn(find(task, seq))?.slice(from, seq === last ? end : undefined);
        // The last characters of a text follow an entry that names it as lost already.
        return text ?? (from < 0 ? '' : lostText(task, seq));
      });
      return { ...body, text: texts.join('') };
    }
    case 'activity': {
      const activity = found && activityOf(found);
      return { ...body, activity: activity ?? { type: 'text', text: lostText(task, first) } };
    }
    case 'artifact': {
      const parts = found?.type === 'artifact' ? found.artifact.parts : undefined;
      return { ...body, artifact: { ...body.artifact, parts: parts ?? [textPart(lostText(task, first))] } };
    }
    default:
      return body;
  }
}

function textIn(body: EventBody | undefined): string | undefined {
  if (body?.type === 'text-delta') return body.text;
  if (body?.type === 'activity' && body.activity.type === 'text') return body.activity.text;
  const [part] = body?.type === 'artifact' ? body.artifact.parts : [];
  return part?.kind === 'text' ? part.text : undefined;
}

function lostText(task: string, seq: number): string {
  return `[This text is lost: entry ${seq} of task ${task} is missing or damaged.]`;
}
