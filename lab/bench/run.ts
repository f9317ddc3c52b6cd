import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { conversation } from './conversation.js';
import { delegation } from './delegation.js';
import type { Figure } from './figures.js';
import { knowledge } from './knowledge.js';
import { coldStart, idle, memory } from './life.js';
import { list, longTask } from './long-task.js';
import { parseOptions } from './options.js';
import { postgres } from './postgres.js';
import type { Scenario } from './scenario.js';
import { FULL, QUICK, runScenario } from './scenario.js';
import { kept, send } from './send.js';
import { crowd, first, paced, streams } from './streams.js';
import type { Outcome } from './table.js';
import { renderTable } from './table.js';

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  send,
  kept,
  streams,
  crowd,
  paced,
  first,
  conversation,
  delegation,
  task: longTask,
  list,
  start: coldStart,
  memory,
  idle,
  knowledge,
  postgres,
};

/** Runs the scenarios of the arguments and prints the results. With `--check` a missed target is an error. */
export async function run(args: readonly string[]): Promise<void> {
  const { quick, json, check, rounds, only } = parseOptions(args, Object.keys(SCENARIOS));
  const mode = quick ? QUICK : FULL;
  const sizes = { ...mode, ...(rounds === undefined ? {} : { rounds }) };
  const home = await mkdtemp(path.join(tmpdir(), 'lango-bench-home-'));
  const figures: Figure[] = [];
  try {
    for (const name of only) {
      process.stderr.write(`${name} …\n`);
      figures.push(...(await runScenario(SCENARIOS[name]!, { sizes, home })));
    }
  } finally {
    await rm(home, { recursive: true, force: true });
  }
  const machine = { cpus: cpus().length, load: loadavg()[0]!, node: process.version };
  const outcome: Outcome = { mode: quick ? 'quick' : 'full', rounds: sizes.rounds, machine, figures };
  console.log(json ? JSON.stringify(outcome, null, 2) : renderTable(outcome));
  const missed = figures.filter(({ result }) => result?.target?.met === false);
  if (check && missed.length > 0) throw new Error(`missed: ${missed.map(({ id }) => id).join(', ')}`);
}
