import { randomBytes } from 'node:crypto';
import { link, rm, writeFile } from 'node:fs/promises';
import { LangoError, codeOf, isLangoError } from '../core/errors.js';
import { CAPABILITIES } from '../capabilities/index.js';
import type { Capability } from '../core/capability.js';
import type { OperationClient } from '../core/operation.js';
import { pagesOf } from '../core/page.js';
import { SERVER_OPERATIONS, type ServerOperations } from '../owners/operations.js';
import type { Call, ConnectionFlags } from './connection.js';
import { EXIT, usageError } from '../terminal/exit.js';
import { withOwner } from './owner-client.js';
import { jsonLine, safeLine } from '../terminal/safe-text.js';
import type { Report, Result } from '../terminal/terminal.js';

/** The words of `lango data forget`, each with its kind of data. */
export function forgettable(capabilities: readonly Capability[]): ReadonlyMap<string, string> {
  const words = capabilities.flatMap(({ forgets = {} }) => Object.entries(forgets));
  return new Map([['context', 'contexts'], ...words]);
}

type Counts = Record<string, number>;

/** `lango data export`: writes a new file that only this user may read, or to standard output. */
export async function exportData(call: Call<ConnectionFlags & { readonly out?: string }>): Promise<Result> {
  const { out } = call.flags;
  const counts: Counts = {};
  await withOwner(SERVER_OPERATIONS, call, async (owner) => {
    if (out !== undefined) await writeWhole(out, exportChunks(owner, counts, JSON.stringify));
    else for await (const chunk of exportChunks(owner, counts, jsonLine)) call.terminal.write(chunk);
  });
  if (out === undefined) return EXIT.ok;
  return { json: { file: out, ...counts }, lines: [safeLine(`Wrote ${out}: ${countsText(counts)}.`)] };
}

/** `lango data delete --yes` */
export async function deleteData(call: Call<ConnectionFlags & { readonly yes?: boolean }>): Promise<Report> {
  if (!call.flags.yes) throw usageError('This deletes all your data for good. To confirm, add --yes.');
  return reportOn(await withOwner(SERVER_OPERATIONS, call, (owner) => owner.deleteData({})));
}

/** `lango data forget KIND NAME` */
export async function forgetData(word: string, name: string, call: Call<ConnectionFlags>): Promise<Report> {
  const kind = forgettable(CAPABILITIES).get(word) ?? word;
  return reportOn(await withOwner(SERVER_OPERATIONS, call, (owner) => owner.forgetData({ kind, name })));
}

function reportOn({ deleted }: { readonly deleted: Counts }): Report {
  return { json: { deleted }, lines: [`Deleted: ${countsText(deleted)}.`] };
}

function countsText(counts: Counts): string {
  return Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');
}

/** Yields one JSON object with a list for each kind, in chunks, as data may exceed the memory. Counts the items of each kind. */
async function* exportChunks(
  owner: OperationClient<ServerOperations>,
  counts: Counts,
  toJson: (value: unknown) => string,
): AsyncGenerator<string, void, undefined> {
  const { kinds } = await owner.listDataKinds({});
  yield '{';
  for (const [index, kind] of kinds.entries()) {
    yield `${index === 0 ? '' : ','}\n${toJson(kind)}: [`;
    counts[kind] = 0;
    for await (const { items } of pagesOf((after) => owner.readData({ kind, after }))) {
      for (const item of items) {
        yield `${counts[kind] === 0 ? '' : ','}\n${toJson(item)}`;
        counts[kind] += 1;
      }
    }
    yield ']';
  }
  yield '\n}\n';
}

/** Writes a new file that only this user may read, whole or not at all. Rejects with `conflict` when the file exists. */
export async function writeWhole(path: string, chunks: AsyncIterable<string> | Iterable<string>) {
  const draft = `${path}.${randomBytes(6).toString('hex')}.part`;
  try {
    await writeFile(draft, chunks, { flag: 'wx', mode: 0o600, flush: true });
    // A rename would replace an existing file; a link does not.
    await link(draft, path);
  } catch (cause) {
    const code = codeOf(cause);
    if (isLangoError(cause) || code === undefined) throw cause;
    if (code === 'EEXIST')
      throw new LangoError('conflict', `${path} exists already.`, { hint: 'Name another file.', cause });
    const hint = 'Name a file in an existing folder that you can write to.';
    throw new LangoError('invalid-input', `${path} cannot be written (${code}).`, { hint, cause });
  } finally {
    await rm(draft, { force: true });
  }
}
