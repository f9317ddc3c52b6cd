import { createHash } from 'node:crypto';
import { appendFile, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { hasSeveralOwners } from '../config/config.js';
import { errorText, LangoError } from '../core/errors.js';
import { DRIFT_FILE, type DriftReport } from '../core/evaluations.js';
import { defined } from '../core/json.js';
import { pagesOf } from '../core/page.js';
import { isTerminal, type Scope, type TaskRecord } from '../core/task.js';
import { Timer } from '../core/time.js';
import { ownOwner } from '../http/identity.js';
import { gatherTask } from '../replay/collect.js';
import { compareRequests } from '../replay/replay.js';
import type { Parts } from './node.js';
import { recordsOf } from './owners.js';

type DriftParts = Parts<'config' | 'storage' | 'agents' | 'journal' | 'logger'>;

const DAY_MS = 86_400_000;
/** The hour of the day (UTC) at which tasks are compared. */
const HOUR = 3;
/** The days whose tasks are sampled. */
const DAYS = 7;
/** The most tasks of one night. */
const MOST_TASKS = 1_000;
const PAGE_SIZE = 100;

/**
 * Compares a share of the newest tasks with the prompts of now each night, for owners who agreed. Returns the function that
 * ends this.
 */
export function startDrift(parts: DriftParts): () => void {
  const { evaluations, auth } = parts.config;
  const agreed = evaluations.owners.map((owner): Scope => ({ tenant: '', owner }));
  const owners = agreed.length > 0 || hasSeveralOwners(auth) ? agreed : [ownOwner(auth)];
  if (evaluations.sample === 0 || owners.length === 0) return () => undefined;
  /** Undefined once this has ended. */
  let timer: Timer | undefined;
  const work = (): void =>
    void reportNight(parts, owners, Date.now())
      .catch((error: unknown) =>
        parts.logger.warn('tasks could not be compared', { error: errorText(error) }),
      )
      .finally(() => timer && plan());
  const plan = (): void => {
    const untilNight = DAY_MS - ((Date.now() - HOUR * 3_600_000) % DAY_MS);
    timer = new Timer(untilNight, work, { ref: false });
  };
  plan();
  return () => {
    timer?.cancel();
    timer = undefined;
  };
}

/** Adds a line to the file of the reports, and to the log. */
async function reportNight(parts: DriftParts, owners: readonly Scope[], at: number): Promise<void> {
  const counts = { tasks: 0, changedTasks: 0, turns: 0, changedTurns: 0 };
  const changes = new Map<string, number>();
  for await (const task of sampled(parts, owners, at)) {
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
  const file = join(parts.config.home, DRIFT_FILE);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await appendFile(file, `${JSON.stringify(report)}\n`, { mode: 0o600 });
  const { tasks, changedTasks } = counts;
  const hint = 'See: lango eval drift';
  parts.logger.info('compared tasks with the prompts of now', { tasks, changedTasks, hint });
}

/** The tasks of people, as the hash of their ids and of the day chooses them. */
async function* sampled({ journal, agents, config }: DriftParts, owners: readonly Scope[], now: number) {
  const day = Math.floor(now / DAY_MS);
  const isChosen = ({ id, parentTaskId, state }: TaskRecord): boolean => {
    const hash = createHash('sha256').update(`${day} ${id}`).digest().readUInt32BE();
    return parentTaskId === undefined && isTerminal(state) && hash < config.evaluations.sample * 2 ** 32;
  };
  for (const scope of owners)
    for (const agent of agents.keys()) {
      const query = { agent, statusFrom: now - DAYS * DAY_MS, pageSize: PAGE_SIZE };
      const read = (pageToken?: string) => journal.list(scope, { ...query, ...defined({ pageToken }) });
      for await (const { tasks } of pagesOf(read)) yield* tasks.filter(isChosen);
    }
}

/** Compares a task with the tasks below it, as far as they are on this node. */
async function compareTask(parts: DriftParts, { id, tenant, owner }: TaskRecord) {
  const scope = { tenant, owner };
  const readRecord = recordsOf(parts, parts.journal);
  const file = await gatherTask(id, {
    async readPage({ taskId, after, via }) {
      if (via.length > 0) throw new LangoError('not-supported', 'Tasks of other nodes are not compared.');
      return readRecord(scope, taskId, after);
    },
    readCard: async () => ({}),
  });
  return compareRequests(file, { agents: parts.agents, scope });
}
