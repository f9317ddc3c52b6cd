import { setImmediate as pause } from 'node:timers/promises';
import { BoundedCache } from '../core/bounded-cache.js';
import type { Journal } from '../core/journal.js';
import { addUsage, NO_USAGE, type UsageRow } from '../core/model.js';
import type { Overview, Percentiles, TaskLine } from '../core/overview.js';
import { isTerminal, type Scope, type TaskEvent, type TaskRecord } from '../core/task.js';
import type { RetentionStore } from '../stores/tasks.js';
import { isDelegatedBy, usageOf } from './bill.js';

interface OverviewParts {
  readonly retention: Pick<RetentionStore, 'listOpen'>;
  readonly tasks: Pick<Journal, 'list' | 'read'>;
  readonly agents: readonly string[];
  readonly nodeId: string;
  readonly now?: () => number;
}

const HOUR_MS = 60 * 60 * 1_000;
/** A longer time is summed by days, and a shorter one by hours. */
const HOURS_BY_HOUR = 48;
const MAX_TASKS = 500;
const MAX_RUNNING = 20;
const MAX_ERRORS = 8;
const MAX_COSTLIEST = 5;
/** The first text of a model comes within these events, or is not looked for. */
const FIRST_EVENTS = 8;
const READS_AT_ONCE = 20;
const MAX_KNOWN = 5_000;
const TITLE_CHARACTERS = 200;

type Summary = Awaited<ReturnType<typeof summaryOf>>;
type Told = Readonly<{ task: TaskRecord; summary: Summary }>;

/**
 * Returns a function that reads what an owner's tasks of the last hours did. The number of tasks that one call reads is
 * limited.
 */
export function createOwnedOverview(parts: OverviewParts) {
  const { retention, tasks, agents, nodeId, now = Date.now } = parts;
  const read = readOnce(MAX_KNOWN, (task) => summaryOf(tasks, task));
  const tell = async (task: TaskRecord): Promise<Told> => ({ task, summary: await read(task) });
  return async (scope: Scope, hours: number): Promise<Overview> => {
    const partMs = (hours > HOURS_BY_HOUR ? 24 : 1) * HOUR_MS;
    const from = Math.floor((now() - hours * HOUR_MS) / partMs + 1) * partMs;
    const query = { statusFrom: from, pageSize: MAX_TASKS };
    const pages = await Promise.all(agents.map((agent) => tasks.list(scope, { agent, ...query })));
    const open = await retention.listOpen(scope, MAX_RUNNING);
    const told = await inTurns(
      pages.flatMap((page) => page.tasks).filter(({ state }) => isTerminal(state)),
      tell,
    );
    const own = told.filter(({ task }) => !isDelegatedBy(nodeId, task));
    const partOf = ({ task }: Told) => Math.floor(task.statusAt / partMs) * partMs;
    return {
      ...{ from, partMs },
      isCut: pages.some(({ nextPageToken }) => nextPageToken !== ''),
      running: (await inTurns(open, tell)).map(lineOf),
      agents: agents.map((agent, index) => ({
        ...{ agent, tasks: pages[index]!.totalSize },
        ...figuresOf(told.filter(({ task }) => task.agent === agent)),
      })),
      ended: [...Map.groupBy(own, (one) => `${partOf(one)} ${one.task.state}`).values()].map((all) => ({
        ...{ at: partOf(all[0]!), state: all[0]!.task.state, tasks: all.length },
      })),
      usage: [...Map.groupBy(own, partOf)].flatMap(([at, all]) => usageRows(all, at)),
      costliest: costliestOf(own),
      errors: errorsIn(told),
    };
  };
}

/** Makes the reader of something of tasks. An ended task does not change, so it is read once for many looks. */
export function readOnce<Value>(most: number, read: (task: TaskRecord) => Promise<Value>) {
  const known = new BoundedCache<string, Value>(most);
  return async (task: TaskRecord): Promise<Value> => {
    const value = known.get(task.id) ?? (await read(task));
    if (isTerminal(task.state)) known.set(task.id, value);
    return value;
  };
}

/** Reads something of each task, some at once, and lets other work of the process go on in between. */
export async function inTurns<Value>(
  tasks: readonly TaskRecord[],
  tell: (task: TaskRecord) => Promise<Value>,
): Promise<readonly Value[]> {
  const told: Value[] = [];
  for (let read = 0; read < tasks.length; read += READS_AT_ONCE) {
    told.push(...(await Promise.all(tasks.slice(read, read + READS_AT_ONCE).map(tell))));
    await pause();
  }
  return told;
}

/** The facts of an ended task besides its record. */
async function summaryOf(tasks: Pick<Journal, 'read'>, task: TaskRecord) {
  const events = await tasks.read(task.id, 0, FIRST_EVENTS);
  const isOver = isTerminal(task.state);
  const [last] = isOver ? await tasks.read(task.id, task.head - 1, 1) : [];
  return {
    title: titleIn(events) || task.id,
    firstTextMs: firstTextIn(events),
    usage: isOver ? await usageOf(tasks, task) : NO_USAGE,
    reason: last?.body.type === 'run-end' ? last.body.reason : undefined,
  };
}

function titleIn([first]: readonly TaskEvent[]): string {
  if (first?.body.type !== 'message') return '';
  const words = first.body.message.parts.map((part) => ('text' in part ? part.text : '')).join(' ');
  return words.trim().slice(0, TITLE_CHARACTERS);
}

function firstTextIn(events: readonly TaskEvent[]): number | undefined {
  const begun = events.find(({ body }) => body.type === 'turn-start');
  const isText = ({ body }: TaskEvent) => body.type === 'turn-end' || body.type === 'text-delta';
  const text = events.find((event) => begun && event.seq > begun.seq && isText(event));
  return begun && text?.body.type === 'text-delta' ? text.at - begun.at : undefined;
}

function lineOf({ task, summary: { title } }: Told): TaskLine {
  const { id, agent, state, createdAt, statusAt } = task;
  return { id, agent, state, title, createdAt, statusAt };
}

const hasFailed = ({ task }: Told) => task.state === 'failed' || task.state === 'rejected';

function figuresOf(told: readonly Told[]) {
  const time = percentilesOf(told.map(({ task }) => task.statusAt - task.createdAt));
  const firstText = percentilesOf(told.flatMap(({ summary }) => summary.firstTextMs ?? []));
  return { failed: told.filter(hasFailed).length, ...(time && { time }), ...(firstText && { firstText }) };
}

/** The nearest ranks. */
export function percentilesOf(values: readonly number[]): Percentiles | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1]!;
  return sorted.length === 0 ? undefined : { p50: at(0.5), p95: at(0.95) };
}

function usageRows(told: readonly Told[], at: number): readonly (UsageRow & { at: number })[] {
  const { rows = [] } = told.reduce((sum, { summary }) => addUsage(sum, summary.usage), NO_USAGE);
  return rows.map((row) => ({ at, ...row }));
}

/** A task with models of two currencies is there once for each. */
function costliestOf(told: readonly Told[]): Overview['costliest'] {
  const costs = told.flatMap((one) => {
    const priced = (one.summary.usage.rows ?? []).filter(({ cost = 0 }) => cost > 0);
    return [...Map.groupBy(priced, ({ currency }) => currency)].map(([currency, rows]) => ({
      ...{ ...lineOf(one), currency },
      cost: rows.reduce((sum, { cost = 0 }) => sum + cost, 0),
    }));
  });
  return costs.sort((a, b) => b.cost - a.cost).slice(0, MAX_COSTLIEST);
}

function errorsIn(told: readonly Told[]): Overview['errors'] {
  const reasonOf = ({ task, summary }: Told) => summary.reason ?? task.state;
  const groups = Map.groupBy(told.filter(hasFailed), (one) => `${one.task.agent} ${reasonOf(one)}`);
  const errors = [...groups.values()].map((all) => {
    const newest = all.reduce((a, b) => (b.task.statusAt > a.task.statusAt ? b : a));
    const text = newest.task.statusMessage?.parts.map((part) => ('text' in part ? part.text : '')).join(' ');
    return {
      ...{ agent: newest.task.agent, reason: reasonOf(newest), tasks: all.length },
      ...{ text: (text ?? '').slice(0, TITLE_CHARACTERS), newest: lineOf(newest) },
    };
  });
  return errors.sort((a, b) => b.tasks - a.tasks).slice(0, MAX_ERRORS);
}
