import { existsSync } from 'node:fs';
import { copyFile, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import type { TaskView } from '../a2a/client/client.js';
import { RecordedResults } from '../agents/recorded-calls.js';
import { hashJson } from '../core/canonical-json.js';
import { errorText, LangoError } from '../core/errors.js';
import type { CaseResult } from '../core/evaluations.js';
import { defined, textIn, type JsonObject } from '../core/json.js';
import { textOf, textPart, type Part } from '../core/message.js';
import { repliesIn, replyPart } from '../core/questions.js';
import type { Tool } from '../core/tool.js';
import { describeDivergence } from '../replay/comparison.js';
import { replayTask } from '../replay/replay.js';
import { taskFileText, type TaskFile } from '../replay/task-file.js';
import { besides, readCases, readNamed, readRecord } from './case-file.js';
import type { CaseFile } from './case-file.js';
import { sum } from './compare.js';
import { failureOf, holdsAll, judge, judgesIn, outcomeOf, useOf, withVerdicts } from './expectations.js';
import { createNodes, type EvalNode, type NodeParts, type Setting, type StartNode } from './node.js';
import { RESULTS_FILE } from './runs.js';

export interface Evaluation {
  /** Whether all cases passed. */
  readonly passed: boolean;
  readonly results: readonly CaseResult[];
}

/**
 * Evaluates the cases at a path, a file or a folder. Without `live` each record is replayed, without models, tools and
 * network, and what is expected is checked on its events. With it the messages of each case are sent to agents, and what
 * is expected is checked on what they did. Rejects with `invalid-input` when a file of cases is wrong.
 */
export async function evaluateCases(path: string, live?: LiveRun): Promise<Evaluation> {
  const files = await readCases(path);
  const { parallel = 1, judgesOnly = false, writesRecords = false } = live ?? {};
  const isReplayed = !live || judgesOnly;
  const cells = cellsOf(files, !isReplayed);
  const taskOf = live ? await createLiveTasks(cells, live) : recordOf;
  const results: CaseResult[] = [];
  const left = cells.entries();
  const work = async (): Promise<void> => {
    for (const [index, cell] of left) {
      const result = await resultOf(cell, isReplayed, taskOf);
      const isNewRecord = writesRecords && result.passed && cell.isFirst && cell.one.at === undefined;
      if ((judgesOnly || isNewRecord) && cell.one.record !== undefined && result.record !== undefined)
        await copyFile(result.record, besides(cell.file, cell.one.record));
      results[index] = result;
    }
  };
  await Promise.all(Array.from({ length: parallel }, work));
  return { passed: results.every(({ passed }) => passed), results };
}

/** The name of a case with what was compared. */
export function nameOfResult({ name, model, instruction, repeat }: Partial<CaseResult>): string {
  const varied = [name, model, instruction, repeat === undefined ? undefined : `#${repeat}`];
  return varied.filter((one) => one !== undefined).join('  ');
}

/**
 * Checks what a case expects on the events of a task. `isReplayed`: the task must also be the same when it runs again.
 * A task that cannot be had is a failure of the case.
 */
async function resultOf(cell: Cell, isReplayed: boolean, taskOf: typeof recordOf): Promise<CaseResult> {
  const { file, one, model: given, instruction, repeat } = cell;
  const model = typeof given === 'object' ? (given.name ?? given.provider ?? given.baseUrl) : given;
  const varied = defined({ model, instruction, repeat });
  const about = { name: one.name, file: file.path, ...varied };
  try {
    const { path: record, task } = await taskOf(cell);
    const outcome = outcomeOf(task);
    const different = isReplayed ? await differenceOf(task) : undefined;
    const checked = await Promise.all(one.expect.map((expected) => failureOf(expected, outcome, file)));
    const failures = [different, ...checked].filter((failure) => failure !== undefined);
    const taskId = task.tasks[0]!.id;
    return { ...about, passed: failures.length === 0, failures, ...outcome.use, taskId, record };
  } catch (error) {
    return { ...about, passed: false, failures: [errorText(error)] };
  }
}

/** Says where this version of Lango would do something else than the record. */
async function differenceOf(record: TaskFile): Promise<string | undefined> {
  const { divergence } = await replayTask(record);
  if (!divergence) return undefined;
  const { where, recorded, now } = describeDivergence(divergence);
  return `the replay differs at ${where} of ${divergence.agent}: recorded ${recorded}, now ${now}`;
}

/** One run of one case: with one model (undefined: that of the configuration), one file of rules, and for one repeat. */
type Cell = ReturnType<typeof cellsOf>[number];

/** The cells of all cases, the models one after the other. Without `isLive` each case has one. */
function cellsOf(files: readonly CaseFile[], isLive: boolean) {
  return files.flatMap((file) => {
    const { models, instructions, repeats: times = 1 }: Partial<CaseFile> = isLive ? file : {};
    const rules = instructions?.map((name) => besides(file, name)) ?? [undefined];
    const repeats = times > 1 ? Array.from({ length: times }, (_, index) => index + 1) : [undefined];
    const variants = (models ?? [undefined]).flatMap((model) =>
      rules.flatMap((instruction) => repeats.map((repeat) => ({ model, instruction, repeat }))),
    );
    return file.cases.flatMap((one) =>
      variants.map((variant, index) => ({ file, one, ...variant, isFirst: index === 0 })),
    );
  });
}

async function recordOf({ file, one: { record } }: Cell) {
  const text = 'It has no record. Name a file as `record`, and write it with: lango eval --live --record';
  if (record === undefined) throw new LangoError('not-found', text);
  const path = besides(file, record);
  return { path, task: await readRecord(path) };
}

type Work = Awaited<ReturnType<typeof workOf>>;

/** Reads what the work of a cell needs. `isOfRecord`: the record itself is the work, and judges are asked about it. */
async function workOf(cell: Cell, isOfRecord: boolean) {
  const { file, one, model = '', instruction, repeat = 1 } = cell;
  const { expect, record: _, ...given } = one;
  const needsRecord = isOfRecord || !one.messages || one.tools === 'recorded' || one.at !== undefined;
  const record = needsRecord ? (await recordOf(cell)).task : undefined;
  const messages = one.messages?.map((text) => [textPart(text)]) ?? messagesIn(record!, one.at);
  const rubrics = expect.flatMap(({ judge }) => judge ?? []);
  const varied = [model, instruction === undefined ? '' : await readRules(instruction), repeat];
  const all = [resolve(file.path), given, rubrics, file.judge ?? '', varied, messages];
  // The name of its folder and file: equal for equal work, so that a run which was interrupted finds what it did.
  const id = `${basename(file.path)}-${hashJson(all).slice(0, 16)}`;
  return { ...cell, messages, agent: one.agent ?? record?.tasks[0]!.agent, record, id };
}

function readRules(path: string): Promise<string> {
  const hint = 'Name files in `instructions` of the file of cases.';
  return readNamed(path, { what: 'file of rules', hint });
}

/** The messages of the person in a recorded task, after an event. Approvals are left out. */
function messagesIn({ tasks }: TaskFile, after = 0): readonly (readonly Part[])[] {
  const said = tasks[0]!.events
    .slice(after)
    .flatMap(({ body }) => (body.type === 'message' ? [body.message.parts] : []));
  return said.map((parts) => parts.flatMap(withoutDecision)).filter((parts) => parts.length > 0);
}

/** The text of a reply to a question is what the person said. */
function withoutDecision(part: Part): readonly Part[] {
  const [reply] = repliesIn([part]);
  const text = reply && textIn(reply['text']);
  return text === undefined ? [part] : text === '' ? [] : [textPart(text)];
}

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
async function createLiveTasks(cells: readonly Cell[], live: LiveRun) {
  const { folder, budget, judgesOnly = false } = live;
  for (const path of new Set(cells.flatMap(({ instruction }) => instruction ?? []))) await readRules(path);
  const entries = cells.flatMap(({ model, file: { judge: own } }) => [model ?? [], own ?? []].flat());
  const start = await createNodes([...new Set(entries)], live);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const purse = budget === undefined ? undefined : await openPurse(budget, live, cells.length);
  return async (cell: Cell): ReturnType<typeof recordOf> => {
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
  const { model, instruction } = work;
  await using node = await start({ ...server, model, instruction, replaceTool: toolsOf(work) });
  return await node.gather(await converse(work, node));
}

/**
 * Sends the messages of a case. Returns the id of the last task. The ids of messages and of the context are the same
 * in each attempt, so a server that goes on after a crash finds the tasks that it has.
 */
async function converse(work: Work, node: EvalNode): Promise<string> {
  const { id, one, messages, record } = work;
  const to = defined({ agent: work.agent });
  const isForkedWith = one.at !== undefined && one.messages !== undefined;
  let task: TaskView | undefined;
  if (one.at !== undefined) {
    const more = { ...to, ...(isForkedWith && { message: textOf(messages[0]!) }) };
    task = await approved(await node.fork(record!, one.at, more), work, node);
  }
  const { contextId = id } = task ?? {};
  for (const [index, parts] of messages.entries()) {
    const messageId = `${id}-${index + 1}`;
    const isKnown = task?.history.some((message) => message.id === messageId);
    if (isKnown || (isForkedWith && index === 0)) continue;
    const waiting = task?.state === 'input-required' ? { taskId: task.id } : {};
    task = await approved(await node.send({ parts, messageId, contextId, ...waiting, ...to }), work, node);
  }
  return task!.id;
}

/** The most rounds of approvals after one message. */
const MAX_ROUNDS = 100;

/** Approves what a task asks, if the case says so. Resolves with the task after it. */
async function approved(task: TaskView, { one, agent }: Work, node: EvalNode): Promise<TaskView> {
  let now = task;
  for (let round = 0; one.approve && round < MAX_ROUNDS; round += 1) {
    const { id: taskId, questions } = now;
    const approvals = questions.filter(({ kind }) => kind === 'approval');
    if (approvals.length === 0) break;
    const parts = approvals.map(({ hash }) => replyPart({ hash, decision: 'approve' }));
    const messageId = `approve-${approvals[0]!.hash}`;
    now = await node.send({ taskId, parts, messageId, questions, ...defined({ agent }) });
  }
  return now;
}

/**
 * Makes the function that replaces tools by what a case says about them: a stub, the result of the record, or the tool
 * itself. Approvals are asked as for the tool.
 */
function toolsOf({ one: { stubs = [], tools, at = 0 }, record }: Work) {
  const recorded = tools === 'recorded' ? new RecordedResults() : undefined;
  const usedUntil = record?.tasks[0]!.events[at - 1]?.at ?? 0;
  for (const { events } of record?.tasks ?? [])
    recorded?.add(events, events.findLast((event) => event.at <= usedUntil)?.seq);
  return (tool: Tool): Tool => {
    const own = stubs.filter((stub) => stub.tool === tool.name);
    if (!recorded && own.length === 0) return tool;
    const stubOf = (input: object) =>
      own.find(({ arguments: wanted = {} }) => holdsAll(input as JsonObject, wanted));
    const isReplaced = (input: object): boolean => (recorded ?? stubOf(input)) !== undefined;
    return {
      ...tool,
      effectOf: (input) => (isReplaced(input) ? 'pure' : (tool.effectOf?.(input) ?? tool.effect)),
      check: async (input, context) => (isReplaced(input) ? undefined : tool.check?.(input, context)),
      async execute(input, context) {
        const stub = stubOf(input);
        if (stub) return { content: stub.result, ...defined({ isError: stub.isError }) };
        if (!recorded) return tool.execute(input, context);
        const known = recorded.next(tool.name, input as JsonObject);
        if (!known) return { content: NOT_RECORDED, isError: true };
        const { content, isError } = known.result;
        return { content, isError, ...defined({ fromOutside: known.fromOutside }) };
      },
    };
  };
}

const NOT_RECORDED =
  'The record of this case has no such call. Its results are the only ones that there are.';

/** The money that a task and its judges cost in this run. */
function costOf(task: TaskFile, { judgesOnly }: Pick<LiveRun, 'judgesOnly'>): number {
  const paid = [...(judgesOnly ? [] : [task]), ...judgesIn(task).map((each) => ({ tasks: [each] }))];
  return sum(paid.map((each) => useOf(each).cost ?? 0));
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
