import { randomBytes } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { link, open, rm } from 'node:fs/promises';

import { LangoError, codeOf, errorText } from '../core/errors.js';
import type { OwnerClient } from '../owners/client.js';
import type { CommandContext } from './terminal.js';
import type { ConnectionFlags } from './connection.js';
import { EXIT, usageError } from './exit.js';
import { withOwner } from './owner-client.js';
import { jsonLine, safeLine } from './safe-text.js';

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

/** What can be forgotten by its name, as the command says it, and the kind of data that it is. */
const FORGETTABLE = {
  context: 'contexts',
  knowledge: 'knowledge',
  learning: 'learnings',
  fact: 'facts',
  skill: 'skills',
} as const;

type Counts = Record<string, number>;

/** `lango data export`: writes a new file that only this user may read, or to standard output. */
export async function exportData(flags: ExportFlags, context: CommandContext): Promise<number> {
  const { terminal } = context;
  const { out } = flags;
  const counts: Counts = {};
  await withOwner(flags, context, async (owner) => {
    if (out !== undefined) await writeWhole(out, exportChunks(owner, counts, JSON.stringify));
    else for await (const chunk of exportChunks(owner, counts, jsonLine)) terminal.write(chunk);
  });
  if (out === undefined) return EXIT.ok;
  const written = `Wrote ${out}: ${countsText(counts)}.`;
  terminal.print(flags.json ? jsonLine({ file: out, ...counts }) : safeLine(written));
  return EXIT.ok;
}

/** `lango data delete --yes` */
export async function deleteData(flags: DeleteFlags, context: CommandContext): Promise<number> {
  if (!flags.yes) throw usageError('This deletes everything that is kept for you, for good. Say --yes.');
  const { deleted } = await withOwner(flags, context, (owner) => owner.deleteData({}));
  return printDeleted(deleted, flags, context);
}

/** `lango data forget KIND NAME` */
export async function forgetData(
  { kind, name }: { readonly kind: ForgetKind; readonly name: string },
  flags: DataFlags,
  context: CommandContext,
): Promise<number> {
  const { deleted } = await withOwner(flags, context, (owner) =>
    owner.forgetData({ kind: FORGETTABLE[kind], name }),
  );
  return printDeleted(deleted, flags, context);
}

function printDeleted(deleted: Counts, { json }: DataFlags, { terminal }: CommandContext): number {
  terminal.print(json ? jsonLine({ deleted }) : `Deleted: ${countsText(deleted)}.`);
  return EXIT.ok;
}

function countsText(counts: Counts): string {
  return Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');
}

/**
 * Yields one JSON object with a list for each kind, in chunks: the data may be larger than the memory. Adds the number
 * of items of each kind to `counts`.
 */
async function* exportChunks(
  owner: OwnerClient,
  counts: Counts,
  toJson: (value: unknown) => string,
): AsyncGenerator<string, void, undefined> {
  const { kinds } = await owner.listDataKinds({});
  yield '{';
  for (const [index, kind] of kinds.entries()) {
    yield `${index === 0 ? '' : ','}\n${toJson(kind)}: [`;
    counts[kind] = 0;
    for (let after: string | undefined = ''; after !== undefined;) {
      const { items, next }: Awaited<ReturnType<OwnerClient['readData']>> = await owner.readData({
        kind,
        after,
      });
      for (const item of items) {
        yield `${counts[kind] === 0 ? '' : ','}\n${toJson(item)}`;
        counts[kind] += 1;
      }
      after = next;
    }
    yield ']';
  }
  yield '\n}\n';
}

/**
 * Writes a new file that only this user may read: whole, or not at all. Rejects with `conflict` when a file of this name
 * exists, and leaves that file as it is.
 */
async function writeWhole(path: string, chunks: AsyncIterable<string>): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString('hex')}.part`;
  try {
    const file = await openNew(draft, path);
    try {
      for await (const chunk of chunks) await file.appendFile(chunk);
      await file.sync();
    } finally {
      await file.close();
    }
    // A rename would replace an existing file; a link does not.
    await link(draft, path);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    throw new LangoError('conflict', `${path} is there already.`, { hint: 'Name another file.' });
  } finally {
    await rm(draft, { force: true });
  }
}

async function openNew(draft: string, path: string): Promise<FileHandle> {
  try {
    return await open(draft, 'wx', 0o600);
  } catch (error) {
    const why = codeOf(error) ?? errorText(error);
    throw new LangoError('invalid-input', `${path} cannot be written (${why}).`, {
      hint: 'Name a file in a folder that is there and that you can write to.',
      cause: error,
    });
  }
}
