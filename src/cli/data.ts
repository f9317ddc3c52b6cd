import { z } from 'zod';
import { DATA_PATH } from '../app.js';
import type { CommandContext } from './command.js';
import type { Connection, ConnectionFlags } from './connection.js';
import { connect } from './connection.js';
import { EXIT, usageError } from './exit.js';
import { jsonLine, safeLine } from './safe-text.js';
import { requestJson } from './server-request.js';
import { writeWhole } from './whole-file.js';

export interface DataFlags extends ConnectionFlags {
  readonly json?: boolean;
}

export interface ExportFlags extends DataFlags {
  readonly out?: string;
}

export interface DeleteFlags extends DataFlags {
  readonly yes?: boolean;
}

export type ForgetKind = keyof typeof FORGETTABLE;

/** What can be forgotten by its name, and where the server has it. */
const FORGETTABLE = {
  context: 'contexts',
  knowledge: 'knowledge',
  learning: 'learnings',
  fact: 'facts',
  skill: 'skills',
} as const;

const kindList = z.object({ kinds: z.array(z.string()) });
const pageSchema = z.object({ items: z.array(z.unknown()), next: z.string().optional() });
const deletion = z.object({ deleted: z.record(z.string(), z.number()) });

type Counts = Record<string, number>;

/** `lango data export`: into a new file, which only this user may read, or to standard output. */
export async function exportData(flags: ExportFlags, context: CommandContext): Promise<number> {
  const { terminal } = context;
  const connection = await connect(flags, context.env);
  const counts: Counts = {};
  const { out } = flags;
  if (out === undefined) {
    for await (const piece of exported(connection, counts, jsonLine)) terminal.write(piece);
    return EXIT.ok;
  }
  await writeWhole(out, exported(connection, counts, JSON.stringify));
  terminal.print(
    flags.json ? jsonLine({ file: out, ...counts }) : safeLine(`Wrote ${out}: ${told(counts)}.`),
  );
  return EXIT.ok;
}

/** `lango data delete --yes` */
export async function deleteData(flags: DeleteFlags, context: CommandContext): Promise<number> {
  if (!flags.yes) throw usageError('This deletes everything that is kept for you, for good. Say --yes.');
  return remove(DATA_PATH, flags, context);
}

/** `lango data forget KIND NAME` */
export async function forgetData(
  { kind, name }: { readonly kind: ForgetKind; readonly name: string },
  flags: DataFlags,
  context: CommandContext,
): Promise<number> {
  const query = new URLSearchParams({ name });
  return remove(`${DATA_PATH}/${FORGETTABLE[kind]}?${query.toString()}`, flags, context);
}

async function remove(
  path: string,
  flags: Omit<DeleteFlags, 'yes'>,
  { env, terminal }: CommandContext,
): Promise<number> {
  const connection = await connect(flags, env);
  const answer = deletion.parse(await requestJson(connection, { method: 'DELETE', path }));
  terminal.print(flags.json ? jsonLine(answer) : `Deleted: ${told(answer.deleted)}.`);
  return EXIT.ok;
}

function told(counts: Counts): string {
  return Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');
}

/** One JSON object with a list for each kind, in pieces: there may be more of it than memory. Counts what it gives. */
async function* exported(
  connection: Connection,
  counts: Counts,
  toJson: (value: unknown) => string,
): AsyncGenerator<string, void, undefined> {
  const { kinds } = kindList.parse(await requestJson(connection, { method: 'GET', path: DATA_PATH }));
  yield '{';
  for (const [index, kind] of kinds.entries()) {
    yield `${index === 0 ? '' : ','}\n${toJson(kind)}: [`;
    counts[kind] = 0;
    for await (const item of itemsOf(connection, kind)) {
      yield `${counts[kind] === 0 ? '' : ','}\n${toJson(item)}`;
      counts[kind] += 1;
    }
    yield ']';
  }
  yield '\n}\n';
}

async function* itemsOf(connection: Connection, kind: string): AsyncGenerator<unknown, void, undefined> {
  for (let after: string | undefined = ''; after !== undefined;) {
    const query = new URLSearchParams({ after });
    const path = `${DATA_PATH}/${encodeURIComponent(kind)}?${query.toString()}`;
    const page = pageSchema.parse(await requestJson(connection, { method: 'GET', path }));
    yield* page.items;
    after = page.next;
  }
}
