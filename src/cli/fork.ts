import { readFile } from 'node:fs/promises';
import { codeOf } from '../core/errors.js';
import { usageError } from '../terminal/exit.js';
import { safeLine } from '../terminal/safe-text.js';
import type { Report } from '../terminal/terminal.js';
import { connect, type Call } from './connection.js';
import { ask } from './explain.js';
import { locateTask, type TaskFlags } from './tasks.js';

type ForkFlags = TaskFlags & {
  readonly at?: number;
  readonly model?: string;
  readonly instruction?: string;
  readonly message?: string;
  readonly result?: readonly string[];
  readonly tools: 'recorded' | 'live';
};

/** `lango fork`: begins a task that shares the events of another one, and goes on in another way. */
export async function fork(given: string, call: Call<ForkFlags>): Promise<Report> {
  const { at, model, instruction, message, result = [], tools, agent } = call.flags;
  const results = await Promise.all(result.map(readResult));
  const text = instruction === undefined ? undefined : await readText(instruction);
  const connection = await connect(call);
  const { task } = await locateTask(connection, given, agent);
  const made = await ask(
    connection,
    connection.owner.forkTask({ taskId: task.id, at, model, instruction: text, message, results, tools }),
  );
  return {
    json: { ...made, fork: { taskId: task.id, seq: made.at } },
    lines: [safeLine(`Forked ${task.id} at event ${made.at}: ${made.taskId}`)],
    notes: [safeLine(`Watch it: lango tasks watch ${made.taskId}`)],
  };
}

async function readResult(given: string): Promise<{ readonly step: string; readonly text: string }> {
  const [, step, path] = /^([^=]+)=(.+)$/s.exec(given) ?? [];
  if (step === undefined || path === undefined)
    throw usageError(`--result ${given} names no step and file.`, 'Write it as t1.c0=FILE.');
  return { step, text: await readText(path) };
}

async function readText(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((cause: unknown) => {
    throw usageError(`${path} cannot be read (${codeOf(cause)}).`, 'Name a file of text.');
  });
}
