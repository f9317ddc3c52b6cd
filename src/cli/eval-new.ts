import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { TaskView } from '../a2a/client/client.js';
import { textOf } from '../core/message.js';
import { TASK_STATES } from '../core/task-states.js';
import { isTerminal, type TaskState } from '../core/task.js';
import { counted, oneLine, shorten } from '../core/text.js';
import { deedsIn } from '../evals/deeds.js';
import { gatherFrom } from '../evals/node.js';
import { taskFileText, type TaskFile } from '../replay/task-file.js';
import { usageError } from '../terminal/exit.js';
import { safeLine } from '../terminal/safe-text.js';
import type { Report } from '../terminal/terminal.js';
import { connect, type Call, type Connection, type ConnectionFlags } from './connection.js';
import { writeWhole } from './data.js';
import { ask } from './explain.js';

interface NewFlags extends ConnectionFlags {
  readonly from?: string;
  readonly out: string;
  readonly limit: number;
}

/** `lango eval new`: writes a record and a case for each of the newest tasks that match. */
export async function newCases(call: Call<NewFlags>): Promise<Report> {
  const { from = '', out, limit } = call.flags;
  const filter = parseFilter(from);
  const connection = await connect(call);
  const tasks = await ask(connection, matching(connection, filter, limit), filter.agent);
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
  const said = first?.type === 'message' ? oneLine(textOf(first.message.parts)).trim() : '';
  const deeds = deedsIn(task);
  const calls = [...new Map(deeds.map((deed) => [`${deed.kind} ${deed.name}`, deed])).values()];
  const names = [...new Set(deeds.map(({ name }) => name))];
  return [
    'cases:',
    `  - name: ${quoted(shorten(said, NAME_CHARACTERS) || record)}`,
    `    record: ${quoted(record)}`,
    '    expect:',
    `      - state: ${root!.state}`,
    ...calls.map(({ kind, name }) => `      - ${kind === 'tool' ? 'tool' : 'asked'}: ${quoted(name)}`),
    ...(names.length > 1 ? [`      - order: [${names.map(quoted).join(', ')}]`] : []),
    '      # Say what a good answer is, with one of: contains, equals, matches, schema, rule.',
    '',
  ].join('\n');
}

/** A text of JSON is one of YAML too. */
const quoted = (text: string): string => JSON.stringify(text);

interface Filter {
  readonly agent?: string;
  readonly state?: TaskState;
  /** Milliseconds since the epoch. */
  readonly since?: number;
}

const HINT = "For instance: --from 'agent=operator state=failed since=7d'";

function parseFilter(text: string): Filter {
  const words = text.split(/\s+/).filter((word) => word !== '');
  const entries = words.map((word): [string, unknown] => {
    const [, key = '', value = ''] = /^(\w+)=(.+)$/.exec(word) ?? [];
    if (key === 'agent') return [key, value];
    if (key === 'state' && TASK_STATES.some((state) => state === value)) return [key, value];
    const since = key === 'since' ? timeOf(value) : NaN;
    if (!Number.isNaN(since)) return [key, since];
    const message = `--from takes agent=NAME, state=STATE and since=TIME, and not "${safeLine(word)}".`;
    throw usageError(message, HINT);
  });
  return Object.fromEntries(entries) as Filter;
}

const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Reads "7d", "12h", "30m", or a date. NaN for anything else. */
function timeOf(text: string): number {
  const [, number, unit = ''] = /^(\d+)([mhd])$/.exec(text) ?? [];
  return number === undefined ? Date.parse(text) : Date.now() - Number(number) * UNITS_MS[unit]!;
}

const PAGE_SIZE = 100;

/** The newest tasks that match, which have ended unless a state is asked for. */
async function matching(
  { client }: Connection,
  { agent, state, since = 0 }: Filter,
  limit: number,
): Promise<readonly TaskView[]> {
  const found: TaskView[] = [];
  let pageToken = '';
  do {
    const about = { pageSize: PAGE_SIZE, pageToken, ...(agent && { agent }), ...(state && { state }) };
    const page = await client.list(about);
    const isNew = ({ stateAt }: TaskView) => stateAt === undefined || Date.parse(stateAt) >= since;
    const fresh = page.tasks.filter(isNew);
    found.push(...fresh.filter((task) => state !== undefined || isTerminal(task.state)));
    pageToken = fresh.length < page.tasks.length ? '' : page.nextPageToken;
  } while (pageToken !== '' && found.length < limit);
  return found.slice(0, limit);
}
