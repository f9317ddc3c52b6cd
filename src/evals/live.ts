import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { taskFileText, type TaskFile } from '../replay/task-file.js';
import { readRecord } from './case-file.js';
import { readRules, workOf, type Cell, type Work } from './cells.js';
import { converse } from './conversation.js';
import { useOf } from './deeds.js';
import { judge, judgesIn, withVerdicts } from './judge.js';
import { createNodes, type NodeParts, type Setting, type StartNode } from './node.js';
import { RESULTS_FILE } from './runs.js';
import { toolsOf } from './stubs.js';

export interface LiveRun extends NodeParts {
  /** The folder of the tasks of the run. A run that was interrupted goes on in the same folder, and repeats nothing. */
  readonly folder: string;
  /** The most money of the whole run, in the currency of the bill. Default: no limit. */
  readonly budget?: number | undefined;
  /** The most cases at the same time. */
  readonly parallel: number;
  /** Whether the task of each case that passes, with the first model, becomes its record. */
  readonly writesRecords?: boolean | undefined;
  /** Whether the records are replayed, and only judges that have not answered yet are asked. */
  readonly judgesOnly?: boolean | undefined;
}

/**
 * Returns the function that does a cell live: on a server of its own with an empty data folder, unless this run did it
 * before. Rejects when a file of rules cannot be read.
 */
export async function createLiveTasks(cells: readonly Cell[], live: LiveRun) {
  const { folder, budget, judgesOnly = false } = live;
  for (const path of new Set(cells.flatMap(({ instruction }) => instruction ?? []))) await readRules(path);
  const entries = cells.flatMap(({ model, file: { judge: own } }) => [model ?? [], own ?? []].flat());
  const start = await createNodes([...new Set(entries)], live);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const purse = budget === undefined ? undefined : await openPurse(budget, live, cells.length);
  return async (cell: Cell): Promise<{ readonly path: string; readonly task: TaskFile }> => {
    const work = await workOf(cell, judgesOnly);
    const path = join(folder, `${work.id}.json`);
    if (existsSync(path)) return { path, task: await readRecord(path) };
    const limit = purse?.take();
    let cost = 0;
    try {
      const home = join(folder, work.id);
      const done = judgesOnly ? work.record! : await runWork(work, start, { home, limit });
      cost = costOf(done, live);
      const left = limit === undefined ? undefined : Math.max(limit - cost, Number.MIN_VALUE);
      const judging = { home: join(home, 'judge'), model: cell.file.judge, limit: left, agents: [judge] };
      const task = await withVerdicts(done, cell.one, () => start(judging));
      cost = costOf(task, live);
      await writeFile(`${path}.part`, taskFileText(task), { flush: true });
      await rename(`${path}.part`, path);
      await rm(home, { recursive: true, force: true });
      return { path, task };
    } finally {
      purse?.giveBack(limit!, cost);
    }
  };
}

async function runWork(work: Work, start: StartNode, server: Pick<Setting, 'home' | 'limit'>) {
  const { model, instruction, one, record } = work;
  await using node = await start({ ...server, model, instruction, replaceTool: toolsOf(one, record) });
  return await node.gather(await converse(work, node));
}

/** The money that a task and its judges cost in this run. */
function costOf(task: TaskFile, { judgesOnly }: Pick<LiveRun, 'judgesOnly'>): number {
  const judges = judgesIn(task).map((each) => useOf({ tasks: [each] }).cost ?? 0);
  return judges.reduce((sum, cost) => sum + cost, judgesOnly ? 0 : (useOf(task).cost ?? 0));
}

/**
 * Opens the purse of a run, of which the tasks in its folder are paid. Cases at the same time share what is left, so that all
 * of them together keep to the budget.
 */
async function openPurse(budget: number, live: LiveRun, most: number) {
  let [left, free] = [budget, Math.min(live.parallel, most)];
  for (const name of await readdir(live.folder))
    if (name.endsWith('.json') && name !== RESULTS_FILE)
      left -= costOf(await readRecord(join(live.folder, name)), live);
  return {
    /** Takes the share of one case. Throws when nothing is left. */
    take(): number {
      if (left <= 0) throw new Error(`The budget of ${budget} is spent; this case was not run.`);
      const share = left / free;
      left -= share;
      free -= 1;
      return share;
    },
    giveBack(share: number, cost: number): void {
      left += share - cost;
      free += 1;
    },
  };
}
