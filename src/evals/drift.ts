import { createHash } from 'node:crypto';
import { appendFile, mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Agent } from '../core/agent.js';
import type { DriftReport } from '../core/evaluations.js';
import { errorText, LangoError } from '../core/errors.js';
import type { Journal } from '../core/journal.js';
import type { Logger } from '../core/logger.js';
import type { RequestReport } from '../core/sent-request.js';
import { isTerminal, type Scope, type TaskRecord } from '../core/task.js';
import { Timer } from '../core/time.js';
import { compareRequests } from '../replay/current.js';
import { gatherTask } from '../replay/gather.js';
import type { TaskPage } from '../replay/task-file.js';

/** The file of the reports in a data folder: a line of JSON for each night. */
export const DRIFT_FILE = 'evals/drift.jsonl';
const DAY_MS = 86_400_000;
/** The hour of the day (UTC) at which tasks are compared. */
const HOUR = 3;
/** The days whose tasks are sampled. */
const DAYS = 7;
/** The most tasks of one night. */
const MOST_TASKS = 1_000;
const PAGE_SIZE = 100;

interface DriftParts {
  readonly tasks: Pick<Journal, 'list'>;
  readonly readRecord: (scope: Scope, taskId: string, after: number) => Promise<TaskPage>;
  readonly agents: ReadonlyMap<string, Agent>;
  /** The owners who agreed. */
  readonly owners: readonly Scope[];
  /** The share of tasks that is compared, up to 1. */
  readonly share: number;
  /** Gets a line of JSON for each night. */
  readonly file: string;
  readonly logger: Logger;
}

/** Compares a share of the newest tasks with the prompts of now each night. Returns the function that ends this. */
export function compareNightly(parts: DriftParts): () => void {
  const { logger } = parts;
  /** Undefined once this has ended. */
  let timer: Timer | undefined;
  const work = (): void =>
    void reportNight(parts)
      .catch((error: unknown) => logger.warn('tasks could not be compared', { error: errorText(error) }))
      .finally(() => timer && plan());
  const plan = (): void => void (timer = new Timer(untilNight(Date.now()), work, { ref: false }));
  plan();
  return () => {
    timer?.cancel();
    timer = undefined;
  };
}

async function reportNight(parts: DriftParts): Promise<void> {
  const { logger, file } = parts;
  const report = await compareSample(parts, Date.now());
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await appendFile(file, `${JSON.stringify(report)}\n`, { mode: 0o600 });
  const { tasks, changedTasks } = report;
  const hint = 'See: lango eval drift';
  logger.info('compared tasks with the prompts of now', { tasks, changedTasks, hint });
}

function untilNight(now: number): number {
  return DAY_MS - ((now - HOUR * 3_600_000) % DAY_MS);
}

async function compareSample(parts: DriftParts, now: number): Promise<DriftReport> {
  const found = { tasks: 0, changedTasks: 0, turns: 0, changedTurns: 0 };
  const changes = new Map<string, number>();
  for await (const { id, tenant, owner } of sampled(parts, now)) {
    const report = await compareTask(parts, { tenant, owner }, id);
    found.tasks += 1;
    found.turns += report.turns;
    found.changedTurns += report.changed.length;
    if (report.changed.length > 0) found.changedTasks += 1;
    for (const turn of report.changed)
      for (const { part, change, name } of turn.changes) {
        const what = `${turn.agent}: ${part} ${name} ${change}`;
        changes.set(what, (changes.get(what) ?? 0) + 1);
      }
  }
  const sorted = [...changes].map(([what, turns]) => ({ what, turns })).sort((a, b) => b.turns - a.turns);
  return { at: now, ...found, changes: sorted };
}

/** The tasks of people, as the hash of their ids and of the day chooses them. */
async function* sampled(
  { tasks, agents, owners, share }: DriftParts,
  now: number,
): AsyncGenerator<TaskRecord, void> {
  const day = Math.floor(now / DAY_MS);
  let count = 0;
  for (const scope of owners)
    for (const agent of agents.keys()) {
      let pageToken = '';
      do {
        const about = { agent, statusFrom: now - DAYS * DAY_MS, pageSize: PAGE_SIZE };
        const page = await tasks.list(scope, { ...about, ...(pageToken && { pageToken }) });
        for (const task of page.tasks) {
          const isOfPerson = task.parentTaskId === undefined && isTerminal(task.state);
          if (!isOfPerson || !isChosen(`${day} ${task.id}`, share)) continue;
          if ((count += 1) > MOST_TASKS) return;
          yield task;
        }
        pageToken = page.nextPageToken;
      } while (pageToken !== '');
    }
}

function isChosen(text: string, share: number): boolean {
  return createHash('sha256').update(text).digest().readUInt32BE() < share * 2 ** 32;
}

/** Compares a task with the tasks below it, as far as they are on this node. */
async function compareTask(
  { agents, readRecord }: DriftParts,
  scope: Scope,
  taskId: string,
): Promise<RequestReport> {
  const file = await gatherTask(taskId, {
    async readPage({ taskId: id, after, via }) {
      if (via.length > 0) throw new LangoError('not-supported', 'Tasks of other nodes are not compared.');
      return readRecord(scope, id, after);
    },
    readCard: async () => ({}),
  });
  return compareRequests(file, { agents, scope });
}
