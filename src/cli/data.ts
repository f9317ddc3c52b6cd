import { writeFile } from 'node:fs/promises';
import { z } from 'zod';
import { DATA_PATH } from '../app.js';
import { LangoError } from '../core/errors.js';
import type { CommandContext } from './command.js';
import type { Connection, ConnectionFlags } from './connection.js';
import { connect, explain } from './connection.js';
import { EXIT, usageError } from './exit.js';
import { jsonLine, safeLine } from './safe-text.js';

export interface ExportFlags extends ConnectionFlags {
  readonly out?: string;
  readonly json?: boolean;
}

export interface DeleteFlags extends ConnectionFlags {
  readonly yes?: boolean;
  readonly json?: boolean;
}

const exported = z.record(z.string(), z.array(z.unknown()));
const taskPage = z.object({ tasks: z.array(z.unknown()), next: z.string().optional() });
const deleted = z.object({ deleted: z.record(z.string(), z.number()) });

/** `lango data export`: into a new file, which only this user may read, or to standard output. */
export async function exportData(flags: ExportFlags, context: CommandContext): Promise<number> {
  const { terminal } = context;
  const data = await allOf(await connect(flags, context.env));
  if (flags.out === undefined) {
    terminal.print(jsonLine(data));
    return EXIT.ok;
  }
  await writeFile(flags.out, `${JSON.stringify(data, undefined, 2)}\n`, { flag: 'wx', mode: 0o600 });
  const counts = Object.fromEntries(Object.entries(data).map(([name, items]) => [name, items.length]));
  terminal.print(
    flags.json ? jsonLine({ file: flags.out, ...counts }) : safeLine(`Wrote ${flags.out}: ${told(counts)}.`),
  );
  return EXIT.ok;
}

/** `lango data delete --yes` */
export async function deleteData(flags: DeleteFlags, context: CommandContext): Promise<number> {
  if (!flags.yes) throw usageError('This deletes everything that is kept for you, for good. Say --yes.');
  const answer = deleted.parse(await ask('DELETE', DATA_PATH, await connect(flags, context.env)));
  context.terminal.print(flags.json ? jsonLine(answer) : `Deleted: ${told(answer.deleted)}.`);
  return EXIT.ok;
}

function told(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');
}

/** The tasks come page by page: they may be many. */
async function allOf(connection: Connection) {
  const data = exported.parse(await ask('GET', DATA_PATH, connection));
  const all: unknown[] = [];
  for (let after: string | undefined = ''; after !== undefined;) {
    const query = new URLSearchParams({ after });
    const page = taskPage.parse(await ask('GET', `${DATA_PATH}/tasks?${query.toString()}`, connection));
    all.push(...page.tasks);
    after = page.next;
  }
  return { tasks: all, ...data };
}

async function ask(method: string, path: string, connection: Connection): Promise<unknown> {
  try {
    const response = await connection.fetch(new URL(path, connection.url), { method });
    if (response.ok) return await response.json();
    const code = response.status === 401 ? 'unauthenticated' : 'unavailable';
    throw new LangoError(code, `The server answered with status ${response.status}.`);
  } catch (error) {
    throw await explain(error, connection);
  }
}
