import { existsSync } from 'node:fs';
import type { Comparison } from '../core/fork.js';
import type { RequestChange } from '../core/sent-request.js';
import { counted } from '../core/text.js';
import { readNamed, readRecord } from '../evals/case-file.js';
import { gatherFrom } from '../evals/node.js';
import { compareTasks, describeDivergence } from '../replay/comparison.js';
import { replayTask } from '../replay/replay.js';
import { taskFileText, withoutContent, type TaskFile } from '../replay/task-file.js';
import { EXIT, usageError } from '../terminal/exit.js';
import { safeLine, safeText } from '../terminal/safe-text.js';
import type { Report, Result } from '../terminal/terminal.js';
import { SERVER_OPERATIONS } from '../owners/operations.js';
import { connect, type Call } from './connection.js';
import { writeWhole } from './data.js';
import { ask } from './explain.js';
import { withOwner } from './owner-client.js';
import { locateTask, type TaskFlags } from './tasks.js';

type ExportFlags = TaskFlags & { readonly out?: string; readonly content: boolean };

/** `lango tasks export`: writes a task with the tasks below it as one file, or to standard output. */
export async function exportTask(given: string, call: Call<ExportFlags>): Promise<Result> {
  const { out, content } = call.flags;
  const whole = await gather(given, call);
  const file = content ? whole : withoutContent(whole);
  const text = taskFileText(file);
  if (out === undefined) {
    call.terminal.write(text);
    return EXIT.ok;
  }
  await writeWhole(out, [text]);
  const { tasks, elsewhere } = file;
  const events = tasks.reduce((sum, { events: { length } }) => sum + length, 0);
  return {
    json: { file: out, tasks: tasks.length, events, elsewhere },
    lines: [safeLine(`Wrote ${out}: ${countsOf(tasks.length, events)}.`)],
    notes: elsewhereNotes(elsewhere),
  };
}

const countsOf = (tasks: number, events: number): string =>
  `${counted(tasks, 'task')} with ${counted(events, 'event')}`;

/** `lango tasks import`: stores the tasks of a file on the server, to look at. They are never run. */
export async function importTask(path: string, call: Call<TaskFlags>): Promise<Report> {
  const file = await readRecord(path);
  const connection = await connect(call);
  const made = await ask(connection, connection.owner.importTask(contentOf(file)));
  return { json: made, lines: [safeLine(`Imported ${counted(made.tasks, 'task')}: ${made.taskId}`)] };
}

type ReplayFlags = TaskFlags & { readonly current?: boolean };

/** `lango replay`: runs an exported task again, without a model, tools and network, and compares each event. */
export async function replay(given: string, call: Call<ReplayFlags>): Promise<Report> {
  const file = await fileOf(given, call);
  if (call.flags.current) return compareWithNow(file, call);
  const report = await replayTask(file);
  const { divergence, tasks, events, taken } = report;
  const different = divergence && { ...divergence, ...describeDivergence(divergence) };
  return {
    json: { identical: divergence === undefined, ...report, divergence: divergence ?? null },
    lines: different
      ? [
          safeLine(`Differs: task ${different.taskId} of ${different.agent}, ${different.where}.`),
          `recorded  ${safeLine(different.recorded)}`,
          `now       ${safeLine(different.now)}`,
        ]
      : [`Identical: ${countsOf(tasks, events)}.`],
    notes: [
      ...taken.map((id) => safeLine(`Taken as recorded, because no model was asked in it: task ${id}.`)),
      ...elsewhereNotes(file.elsewhere),
    ],
    exitCode: divergence ? EXIT.failure : EXIT.ok,
  };
}

/** `lango replay --current`: names the turns whose models would be asked something else by the running server. */
async function compareWithNow(file: TaskFile, call: Call<TaskFlags>): Promise<Report> {
  const connection = await connect(call);
  const report = await ask(connection, connection.owner.compareRequests(contentOf(file)));
  const { turns, changed, unknown, absent } = report;
  const lines = changed.flatMap(({ taskId, agent, step, changes }) => [
    safeLine(`Asks something else: task ${taskId} of ${agent}, turn ${step}.`),
    ...changes.flatMap(changeLines),
  ]);
  const old = `Not compared: ${counted(unknown, 'turn')} of a version that did not record requests.`;
  return {
    json: { same: changed.length === 0, ...report },
    lines: [...lines, `${counted(turns - changed.length, 'turn')} would be asked the same.`],
    notes: [
      ...(unknown > 0 ? [old] : []),
      ...absent.map((agent) => safeLine(`Not compared: the server runs no agent ${agent} with a model.`)),
    ],
    exitCode: changed.length > 0 ? EXIT.failure : EXIT.ok,
  };
}

const contentOf = (file: TaskFile) => ({ content: Buffer.from(taskFileText(file)) });

const SIGNS = { added: '+', removed: '-', changed: '~' } as const;

function changeLines({ part, change, name, text }: RequestChange): readonly string[] {
  const what = `${SIGNS[change]} ${part} ${name}`;
  if (part === 'model') return [safeLine(`${what} -> ${text}`)];
  const lines = text?.split('\n') ?? [];
  return [safeLine(what), ...lines.map((line) => `    ${safeText(line)}`)];
}

/** The events of each side that are shown, and the characters of each. */
const SHOWN_EVENTS = 8;
const SHOWN_CHARACTERS = 300;

/** `lango diff`: shows where two tasks part, and what each did from there. */
export async function diff(first: string, second: string, call: Call<TaskFlags>): Promise<Report> {
  const [one, other] = [await fileOf(first, call), await fileOf(second, call)];
  const { isSame, a, b } = compareTasks(one.tasks[0]!, other.tasks[0]!);
  const lineOf = ({ seq, author, type, text }: Comparison['a'][number]) =>
    `   ${seq}  ${safeLine(`${author}: ${type} ${text}`, SHOWN_CHARACTERS)}`;
  const side = (name: string, deeds: Comparison['a']): readonly string[] => [
    deeds.length === 0 ? `${name}  nothing more` : `${name}  from event ${deeds[0]!.seq} on:`,
    ...deeds.slice(0, SHOWN_EVENTS).map(lineOf),
    ...(deeds.length > SHOWN_EVENTS ? [`   and ${deeds.length - SHOWN_EVENTS} more`] : []),
  ];
  return {
    json: { same: isSame, a, b },
    lines: isSame ? ['Both did the same.'] : [...side('A', a), ...side('B', b)],
    exitCode: isSame ? EXIT.ok : EXIT.failure,
  };
}

function elsewhereNotes(elsewhere: TaskFile['elsewhere']): readonly string[] {
  const how = 'is in the file as its caller saw it: its server does not show its events.';
  return elsewhere.map(({ taskId, agent }) => safeLine(`Task ${taskId} of ${agent} ${how}`));
}

function fileOf(given: string, call: Call<TaskFlags>): Promise<TaskFile> {
  return existsSync(given) ? readRecord(given) : gather(given, call);
}

const WHOLE_ID = /^[0-9a-f-]{36}$/i;

/** A whole id is also found in a data folder that no server has open. */
async function gather(given: string, call: Call<TaskFlags>): Promise<TaskFile> {
  if (WHOLE_ID.test(given)) return withOwner(SERVER_OPERATIONS, call, (owner) => gatherFrom(owner, given));
  const connection = await connect(call);
  const { id } = await locateTask(connection, given, call.flags.agent);
  return ask(connection, gatherFrom(connection.owner, id));
}

type ForkFlags = TaskFlags & {
  readonly at?: number;
  readonly model?: string;
  readonly instruction?: string;
  readonly message?: string;
  readonly result?: readonly string[];
  readonly tools: 'recorded' | 'live';
};

const TEXT = { what: 'file', hint: 'Name a file of text.' };

/** `lango fork`: begins a task that shares the events of another one, and goes on in another way. */
export async function fork(given: string, call: Call<ForkFlags>): Promise<Report> {
  const { at, model, instruction, message, result = [], tools, agent } = call.flags;
  const results = await Promise.all(result.map(readResult));
  const text = instruction === undefined ? undefined : await readNamed(instruction, TEXT);
  const connection = await connect(call);
  const { id: taskId } = await locateTask(connection, given, agent);
  const wanted = { taskId, at, model, instruction: text, message, results, tools };
  const made = await ask(connection, connection.owner.forkTask(wanted));
  return {
    json: { ...made, fork: { taskId, seq: made.at } },
    lines: [safeLine(`Forked ${taskId} at event ${made.at}: ${made.taskId}`)],
    notes: [safeLine(`Watch it: lango tasks watch ${made.taskId}`)],
  };
}

async function readResult(given: string): Promise<{ readonly step: string; readonly text: string }> {
  const [, step, path] = /^([^=]+)=(.+)$/s.exec(given) ?? [];
  if (step === undefined || path === undefined)
    throw usageError(`--result ${given} names no step and file.`, 'Write it as t1.c0=FILE.');
  return { step, text: await readNamed(path, TEXT) };
}
