import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AgentClient } from '../a2a/client/client.js';
import type { LoadedConfig } from '../config/load.js';
import type { ModelChoice } from '../config/models.js';
import { trialConfig } from '../config/trial.js';
import { errorText, LangoError } from '../core/errors.js';
import { silentLogger } from '../core/logger.js';
import { replyPart } from '../core/questions.js';
import { parseTaskFile, taskFileText, type TaskFile } from '../replay/task-file.js';
import { besides, type CaseFile, type ModelEntry } from './case-file.js';
import { cellsOf, modelName, type Cell } from './cells.js';
import { checkRecord, type CaseResult } from './check.js';
import { useOf } from './deeds.js';
import { startNode, type CreateApp } from './node.js';
import { toolsOf } from './stubs.js';

export interface LiveRun {
  /** Where the run keeps its tasks. A run that was interrupted goes on in the same folder, and repeats nothing. */
  readonly folder: string;
  /** The most money of the whole run, in the currency of the bill. Default: no limit. */
  readonly budget?: number | undefined;
  /** The most cases at the same time. */
  readonly parallel: number;
  /** Whether the task of each case that passes, with the first model, becomes its record. */
  readonly writesRecords?: boolean | undefined;
  /** Loads the configuration, with these as further models of `agent.models`. */
  readonly load: (models: Readonly<Record<string, ModelEntry>>) => Promise<LoadedConfig>;
  readonly createApp: CreateApp;
}

/** Runs all cases with live agents, each on a server of its own with an empty data folder. */
export async function runLive(files: readonly CaseFile[], live: LiveRun): Promise<readonly CaseResult[]> {
  const cells = await cellsOf(files);
  const entries = [...new Set(cells.flatMap(({ model }) => model ?? []))];
  const named = Object.fromEntries(entries.map((entry, index) => [`model-${index}`, entry]));
  const loaded = await live.load(named);
  const { models, ...others } = loaded.config.agent;
  const choices = new Map(entries.map((entry, index) => [entry, models[`model-${index}`]!]));
  const ofAgents = Object.entries(models).filter(([name]) => !(name in named));
  const agent = { ...others, models: Object.fromEntries(ofAgents) };
  const plain = { ...loaded, config: { ...loaded.config, agent } };
  const purse = new Purse(live.budget, Math.min(live.parallel, cells.length));
  const results: CaseResult[] = [];
  const queue = [...cells.entries()];
  const work = async (): Promise<void> => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const [index, cell] = next;
      results[index] = await resultOf(cell, { live, plain, choice: choices.get(cell.model!), purse });
    }
  };
  await mkdir(live.folder, { recursive: true });
  await Promise.all(Array.from({ length: live.parallel }, work));
  return results;
}

interface CellContext {
  readonly live: LiveRun;
  readonly plain: LoadedConfig;
  readonly choice: ModelChoice | undefined;
  readonly purse: Purse;
}

async function resultOf(cell: Cell, context: CellContext): Promise<CaseResult> {
  const { file, one, instruction, repeat } = cell;
  const { folder, writesRecords } = context.live;
  const model = modelName(cell.model);
  const about = {
    ...{ name: one.name, file: file.path },
    ...(model !== undefined && { model }),
    ...(instruction !== undefined && { instruction }),
    ...((file.repeats ?? 1) > 1 && { repeat }),
  };
  const path = join(folder, `${cell.id}.json`);
  try {
    const task = await doneTask(path, cell, context);
    const { failures, ...checked } = await checkRecord(file, one, task);
    const passed = failures.length === 0;
    const isFirst = cell.isFirst && repeat === 1;
    if (writesRecords && passed && isFirst && one.record !== undefined)
      await writeFile(besides(file, one.record), taskFileText(task));
    return { ...about, ...checked, passed, failures, record: path };
  } catch (error) {
    return { ...about, passed: false, failures: [errorText(error)] };
  }
}

/** The task of a cell: the one that this run did before, or a new one. */
async function doneTask(path: string, cell: Cell, context: CellContext): Promise<TaskFile> {
  const { purse } = context;
  const known = await readFile(path, 'utf8').catch(() => undefined);
  if (known !== undefined) {
    const task = parseTaskFile(JSON.parse(known));
    purse.spend(useOf(task).cost ?? 0);
    return task;
  }
  const limit = purse.take();
  let cost = 0;
  try {
    const home = join(context.live.folder, cell.id);
    const task = await runCell(cell, { ...context, home, limit });
    cost = useOf(task).cost ?? 0;
    await writeFile(`${path}.part`, taskFileText(task), { flush: true });
    await rename(`${path}.part`, path);
    await rm(home, { recursive: true, force: true });
    return task;
  } finally {
    purse.giveBack(limit, cost);
  }
}

async function runCell(
  cell: Cell,
  {
    live,
    plain,
    choice,
    home,
    limit,
  }: CellContext & { readonly home: string; readonly limit: number | undefined },
): Promise<TaskFile> {
  const { config, ...trial } = trialConfig(plain, home);
  const { cost = Infinity } = config.agent.limits;
  const limits = { ...config.agent.limits, ...(limit !== undefined && { cost: Math.min(cost, limit) }) };
  const rules = cell.instruction === undefined ? {} : { houseRulesFile: cell.instruction };
  await using node = await startNode(live.createApp, {
    ...trial,
    logger: silentLogger,
    config: {
      ...config,
      agent: { ...config.agent, ...rules, limits },
      model: { ...config.model, ...choice },
    },
    replaceTool: toolsOf(cell.one, cell.record),
  });
  return await node.gather(await converse(cell, node.client));
}

/**
 * Sends the messages of a case. Returns the id of the last task. All ids of messages are the same in each attempt, so a
 * server that goes on after a crash finds the tasks that it has.
 */
async function converse({ one, messages, agent }: Cell, client: AgentClient): Promise<string> {
  const to = agent === undefined ? {} : { agent };
  let taskId = '';
  let contextId = '';
  let waits = false;
  for (const [index, parts] of messages.entries()) {
    const messageId = `message-${index + 1}`;
    const about = { ...(contextId && { contextId }), ...(waits && { taskId }) };
    const isKnown = taskId !== '' && (await hasMessage(client, { taskId, ...to }, messageId));
    if (!isKnown) taskId = await send(client, { parts, messageId, ...about, ...to });
    let task = await client.get({ taskId, ...to });
    for (let round = 0; one.approve && round < MAX_ROUNDS && task.questions.length > 0; round += 1) {
      const { questions } = task;
      const approvals = questions.filter(({ kind }) => kind !== 'input');
      if (approvals.length === 0) break;
      const replies = approvals.map(({ hash }) => replyPart({ hash, decision: 'approve' }));
      await send(client, {
        parts: replies,
        messageId: `approve-${approvals[0]!.hash}`,
        taskId,
        questions,
        ...to,
      });
      task = await client.get({ taskId, ...to });
    }
    contextId = task.contextId;
    waits = task.state === 'input-required';
  }
  return taskId;
}

/** The most rounds of approvals after one message. */
const MAX_ROUNDS = 100;

async function hasMessage(
  client: AgentClient,
  task: Parameters<AgentClient['get']>[0],
  messageId: string,
): Promise<boolean> {
  const { history } = await client.get(task);
  return history.some(({ id }) => id === messageId);
}

/** Sends a message and waits until the task has ended, or waits for a person. Resolves with its id. Rejects without a task. */
async function send(client: AgentClient, request: Parameters<AgentClient['send']>[0]): Promise<string> {
  let taskId = request.taskId;
  let said = '';
  // The task has a limit of time of its own.
  for await (const event of client.send(request, new AbortController().signal)) {
    if (event.type === 'task') ({ taskId } = event);
    if (event.type === 'end') said = event.text;
  }
  if (taskId === undefined) throw new LangoError('unavailable', `The message made no task: ${said}`);
  return taskId;
}

/** The money of a run. Cases at the same time share what is left, so that all of them together keep to the budget. */
class Purse {
  readonly #budget: number | undefined;
  #left: number;
  #free: number;

  constructor(budget: number | undefined, parallel: number) {
    this.#budget = budget;
    this.#left = budget ?? Infinity;
    this.#free = parallel;
  }

  spend(cost: number): void {
    this.#left -= cost;
  }

  /** Takes the share of one case. Throws when nothing is left. */
  take(): number | undefined {
    if (this.#budget === undefined) return undefined;
    if (this.#left <= 0) throw new Error(`The budget of ${this.#budget} is spent; this case was not run.`);
    const share = this.#left / this.#free;
    this.#left -= share;
    this.#free -= 1;
    return share;
  }

  giveBack(share: number | undefined, cost: number): void {
    if (share === undefined) return;
    this.#left += share - cost;
    this.#free += 1;
  }
}
