import { copyFile, mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CaseResult } from '../core/evaluations.js';
import { defined } from '../core/json.js';
import { parseTaskFile, taskFileText, type TaskFile } from '../replay/task-file.js';
import { besides, type CaseFile } from './case-file.js';
import { cellsOf, modelName, type Cell } from './cells.js';
import { resultOf } from './check.js';
import { converse } from './conversation.js';
import { useOf } from './deeds.js';
import { judge, judgesIn, withVerdicts } from './judge.js';
import { createNodes, type NodeParts, type Setting, type StartNode } from './node.js';
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

/** Runs all cases with live agents, each on a server of its own with an empty data folder. */
export async function runLive(files: readonly CaseFile[], live: LiveRun): Promise<readonly CaseResult[]> {
  const cells = await cellsOf(files, live.judgesOnly ?? false);
  const entries = [...cells.map(({ model }) => model), ...files.map((file) => file.judge)];
  const start = await createNodes([...new Set(entries.flatMap((entry) => entry ?? []))], live);
  const purse = createPurse(live.budget, Math.min(live.parallel, cells.length));
  await mkdir(live.folder, { recursive: true, mode: 0o700 });
  const done = new Set(await readdir(live.folder));
  const results: CaseResult[] = [];
  // Cases that are done come first: their money is spent.
  const queue = [...cells.entries()].sort(
    ([, a], [, b]) => Number(done.has(`${b.id}.json`)) - Number(done.has(`${a.id}.json`)),
  );
  const work = async (): Promise<void> => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const [index, cell] = next;
      results[index] = await resultOfCell(cell, { live, start, purse });
    }
  };
  await Promise.all(Array.from({ length: live.parallel }, work));
  return results;
}

interface CellContext {
  readonly live: LiveRun;
  readonly start: StartNode;
  readonly purse: Purse;
}

async function resultOfCell(cell: Cell, context: CellContext): Promise<CaseResult> {
  const { file, one, model, instruction, repeat } = cell;
  const { writesRecords, judgesOnly = false } = context.live;
  const isRepeated = (file.repeats ?? 1) > 1;
  const varied = defined({ model: modelName(model), instruction, repeat: isRepeated ? repeat : undefined });
  const result = await resultOf({ file, one, ...varied }, judgesOnly, () => doneTask(cell, context));
  const isNew = writesRecords && result.passed && cell.isFirst && one.at === undefined;
  if ((isNew || judgesOnly) && one.record !== undefined && result.record !== undefined)
    await copyFile(result.record, besides(file, one.record));
  return result;
}

/** The task of a cell: the one that this run did before, or a new one. */
async function doneTask(cell: Cell, { live, start, purse }: CellContext) {
  const path = join(live.folder, `${cell.id}.json`);
  const known = await readFile(path, 'utf8').catch(() => undefined);
  if (known !== undefined) {
    const task = parseTaskFile(JSON.parse(known));
    purse.spend(costOf(task, live));
    return { path, task };
  }
  const limit = purse.take();
  let task: TaskFile | undefined;
  try {
    const home = join(live.folder, cell.id);
    task = live.judgesOnly ? cell.record! : await runCell(cell, start, { home, limit });
    const left = limit === undefined ? undefined : Math.max(limit - costOf(task, live), Number.MIN_VALUE);
    const judging = { home: join(home, 'judge'), model: cell.file.judge, limit: left, agents: [judge] };
    task = await withVerdicts(task, cell.one, () => start(judging));
    await writeFile(`${path}.part`, taskFileText(task), { flush: true });
    await rename(`${path}.part`, path);
    await rm(home, { recursive: true, force: true });
    return { path, task };
  } finally {
    purse.giveBack(limit, task ? costOf(task, live) : 0);
  }
}

async function runCell(cell: Cell, start: StartNode, server: Pick<Setting, 'home' | 'limit'>) {
  const { model, instruction, one, record } = cell;
  await using node = await start({ ...server, model, instruction, replaceTool: toolsOf(one, record) });
  return await node.gather(await converse(cell, node));
}

/** The money that a task and its judges cost in this run. */
function costOf(task: TaskFile, { judgesOnly }: LiveRun): number {
  const judges = judgesIn(task).map((each) => useOf({ tasks: [each] }).cost ?? 0);
  return judges.reduce((sum, cost) => sum + cost, judgesOnly ? 0 : (useOf(task).cost ?? 0));
}

type Purse = ReturnType<typeof createPurse>;

/** Makes the purse of a run. Cases at the same time share what is left, so that all of them together keep to the budget. */
function createPurse(budget: number | undefined, parallel: number) {
  let [left, free] = [budget ?? Infinity, parallel];
  return {
    spend(cost: number): void {
      left -= cost;
    },
    /** Takes the share of one case. Throws when nothing is left. */
    take(): number | undefined {
      if (budget === undefined) return undefined;
      if (left <= 0) throw new Error(`The budget of ${budget} is spent; this case was not run.`);
      const share = left / free;
      left -= share;
      free -= 1;
      return share;
    },
    giveBack(share: number | undefined, cost: number): void {
      if (share === undefined) return;
      left += share - cost;
      free += 1;
    },
  };
}
