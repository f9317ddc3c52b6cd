import { createHash } from 'node:crypto';
import { appendFile, mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Agent } from '../core/agent.js';
import type { DriftReport } from '../core/evaluations.js';
import { errorText, LangoError } from '../core/errors.js';
import type { Journal } from '../core/journal.js';
import { defined } from '../core/json.js';
import type { Logger } from '../core/logger.js';
import { pagesOf } from '../core/page.js';
import { isTerminal, type Scope, type TaskRecord } from '../core/task.js';
import { Timer } from '../core/time.js';
import { compareRequests } from '../replay/current.js';
import { gatherTask, type ReadRecord } from '../replay/collect.js';

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
  readonly readRecord: ReadRecord;
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
  /** Undefined once this has ended. */
  let timer: Timer | undefined;
  const work = (): void =>
    void reportNight(parts, Date.now())
      .catch((error: unknown) =>
        parts.logger.warn('tasks could not be compared', { error: errorText(error) }),
      )
      .finally(() => timer && plan());
  const plan = (): void => void (timer = new Timer(untilNight(Date.now()), work, { ref: false }));
  plan();
  return () => {
    timer?.cancel();
    timer = undefined;
  };
}

function untilNight(now: number): number {
  return DAY_MS - ((now - HOUR * 3_600_000) % DAY_MS);
}

async function reportNight(parts: DriftParts, at: number): Promise<void> {
  const counts = { tasks: 0, changedTasks: 0, turns: 0, changedTurns: 0 };
  const changes = new Map<string, number>();
  for await (const task of sampled(parts, at)) {
    const { turns, changed } = await compareTask(parts, task);
    counts.tasks += 1;
    counts.changedTasks += Number(changed.length > 0);
    counts.turns += turns;
    counts.changedTurns += changed.length;
    for (const { agent, changes: found } of changed)
      for (const { part, change, name } of found) {
        const what = `${agent}: ${part} ${name} ${change}`;
        changes.set(what, (changes.get(what) ?? 0) + 1);
      }
    if (counts.tasks === MOST_TASKS) break;
  }
  const sorted = [...changes].map(([what, turns]) => ({ what, turns })).sort((a, b) => b.turns - a.turns);
  const report: DriftReport = { at, ...counts, changes: sorted };
  await mkdir(dirname(parts.file), { recursive: true, mode: 0o700 });
  await appendFile(parts.file, `${JSON.stringify(report)}\n`, { mode: 0o600 });
  const { tasks, changedTasks } = counts;
  const hint = 'See: lango eval drift';
  parts.logger.info('compared tasks with the prompts of now', { tasks, changedTasks, hint });
}

/** The tasks of people, as the hash of their ids and of the day chooses them. */
async function* sampled({ tasks, agents, owners, share }: DriftParts, now: number) {
  const day = Math.floor(now / DAY_MS);
  const isChosen = ({ id, parentTaskId, state }: TaskRecord): boolean => {
    const hash = createHash('sha256').update(`${day} ${id}`).digest().readUInt32BE();
    return parentTaskId === undefined && isTerminal(state) && hash < share * 2 ** 32;
  };
  for (const scope of owners)
    for (const agent of agents.keys()) {
      const query = { agent, statusFrom: now - DAYS * DAY_MS, pageSize: PAGE_SIZE };
      const pages = pagesOf(async (pageToken) => {
        const page = await tasks.list(scope, { ...query, ...defined({ pageToken }) });
        return { tasks: page.tasks, next: page.nextPageToken || undefined };
      });
      for await (const page of pages) yield* page.tasks.filter(isChosen);
    }
}

/** Compares a task with the tasks below it, as far as they are on this node. */
async function compareTask({ agents, readRecord }: DriftParts, { id, tenant, owner }: TaskRecord) {
  const scope = { tenant, owner };
  const file = await gatherTask(id, {
    async readPage({ taskId, after, via }) {
      if (via.length > 0) throw new LangoError('not-supported', 'Tasks of other nodes are not compared.');
      return readRecord(scope, taskId, after);
    },
    readCard: async () => ({}),
  });
  return compareRequests(file, { agents, scope });
}
