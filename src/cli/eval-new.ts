import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { TaskView } from '../a2a/client/client.js';
import { yamlText } from '../config/text-source.js';
import { canonicalJson } from '../core/canonical-json.js';
import { textOf } from '../core/message.js';
import { pagesOf } from '../core/page.js';
import { TASK_STATES } from '../core/task-states.js';
import { isTerminal } from '../core/task.js';
import { counted, oneLine, shorten } from '../core/text.js';
import { deedsIn } from '../evals/expectations.js';
import { gatherFrom } from '../evals/node.js';
import { taskFileText, type TaskFile } from '../replay/task-file.js';
import { usageError } from '../terminal/exit.js';
import { safeLine } from '../terminal/safe-text.js';
import type { Report } from '../terminal/terminal.js';
import { connect, type Call, type Connection, type ConnectionFlags } from './connection.js';
import { writeWhole } from './data.js';
import { ask } from './explain.js';

type NewFlags = ConnectionFlags & { readonly from?: string; readonly out: string; readonly limit: number };

/** `lango eval new`: writes a record and a case for each of the newest tasks that match. */
export async function newCases(call: Call<NewFlags>): Promise<Report> {
  const { from = '', out, limit } = call.flags;
  const wanted = parseFilter(from);
  const connection = await connect(call);
  const tasks = await ask(connection, matching(connection, wanted, limit), wanted.agent);
  await mkdir(out, { recursive: true });
  const files: string[] = [];
  for (const { id } of tasks) {
    const record = `${id}.json`;
    const file = join(out, `${id}.yaml`);
    if (existsSync(file)) continue;
    const task = await ask(connection, gatherFrom(connection.owner, id));
    if (!existsSync(join(out, record))) await writeWhole(join(out, record), [taskFileText(task)]);
    await writeWhole(file, [caseText(task, record)]);
    files.push(file);
  }
  const known = tasks.length - files.length;
  return {
    json: { files, known },
    lines: files.map((file) => safeLine(file)),
    notes: [
      ...(tasks.length === 0 ? ['There are no such tasks.'] : []),
      ...(known > 0 ? [`${counted(known, 'task')} had a case already.`] : []),
      ...(files.length > 0 ? [`Say what you expect of each, then run: lango eval ${safeLine(out)}`] : []),
    ],
  };
}

const NAME_CHARACTERS = 80;

/** Writes a file with one case of a real task, as YAML: it expects what happened. `record`: the name of the file with the task. */
function caseText(task: TaskFile, record: string): string {
  const [root] = task.tasks;
  const first = root!.events.find(({ body }) => body.type === 'message')?.body;
  const said = first?.type === 'message' ? oneLine(textOf(first.message.parts)) : '';
  const deeds = deedsIn(task);
  const calls = deeds.map(({ kind, name }) => (kind === 'tool' ? { tool: name } : { asked: name }));
  const names = [...new Set(deeds.map(({ name }) => name))];
  const expect = [
    { state: root!.state },
    ...new Map(calls.map((call) => [canonicalJson(call), call])).values(),
    ...(names.length > 1 ? [{ order: names }] : []),
  ];
  const name = shorten(said, NAME_CHARACTERS) || record;
  const hint = '      # Say what a good answer is, with one of: contains, equals, matches, schema, rule.\n';
  return yamlText({ cases: [{ name, record, expect }] }) + hint;
}

const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Reads "7d", "12h", "30m", or a date. NaN for anything else. */
function timeOf(text: string): number {
  const [, number, unit = ''] = /^(\d+)([mhd])$/.exec(text) ?? [];
  return number === undefined ? Date.parse(text) : Math.max(0, Date.now() - Number(number) * UNITS_MS[unit]!);
}

const filter = z
  .strictObject({
    agent: z.string().min(1),
    state: z.enum(TASK_STATES),
    /** In milliseconds since the epoch. */
    since: z.string().transform(timeOf).pipe(z.number()),
  })
  .partial();

function parseFilter(text: string): z.output<typeof filter> {
  const words = text.split(/\s+/).filter((word) => word !== '');
  const entries = words.map((word) => /^(.*?)=(.*)$/.exec(word)?.slice(1) ?? [word, '']);
  const { data } = filter.safeParse(Object.fromEntries(entries));
  if (data) return data;
  const message = `--from takes agent=NAME, state=STATE and since=TIME, and not "${safeLine(text)}".`;
  throw usageError(message, "For instance: --from 'agent=operator state=failed since=7d'");
}

const PAGE_SIZE = 100;

/** The newest tasks that match, which have ended unless a state is asked for. */
async function matching({ client }: Connection, wanted: z.output<typeof filter>, limit: number) {
  const found: TaskView[] = [];
  const read = (pageToken?: string) => client.list({ ...wanted, pageSize: PAGE_SIZE, pageToken });
  for await (const { tasks } of pagesOf(read)) {
    found.push(...tasks.filter(({ state }) => wanted.state !== undefined || isTerminal(state)));
    if (found.length >= limit) break;
  }
  return found.slice(0, limit);
}
