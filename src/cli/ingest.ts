import path from 'node:path';
import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { LangoError, errorText } from '../core/errors.js';
import type { Submission } from '../stores/library.js';
import { DEFAULT_COLLECTION } from '../stores/library.js';
import { counted } from '../core/text.js';
import type { OwnerClient } from '../owners/client.js';
import type { ResultOf } from '../owners/operations.js';
import type { ConnectionFlags } from './connection.js';
import { EXIT, usageError } from './exit.js';
import type { Found, FoundFile, Skipped } from './ingest-files.js';
import { findFiles } from './ingest-files.js';
import { withOwner } from './owner-client.js';
import { jsonLine, safeLine } from './safe-text.js';
import type { CommandContext, Terminal } from './terminal.js';

export interface DocumentFlags extends ConnectionFlags {
  readonly collection?: string;
  readonly json?: boolean;
}

export interface IngestFlags extends DocumentFlags {
  readonly reembed?: boolean;
}

export interface RemoveFlags extends DocumentFlags {
  readonly all?: boolean;
}

type ListedDocuments = ResultOf<'listDocuments'>['documents'];

interface Tally {
  added: number;
  changed: number;
  unchanged: number;
  removed: number;
  embedded: number;
  note: string | undefined;
  readonly skipped: Skipped[];
}

const SHOWN_SKIPPED = 20;
const BINARY_SAMPLE = 8_000;
const REMOVED_AT_ONCE = 100;

/** `lango ingest PATH…` and `lango ingest --reembed`. */
export async function ingest(
  paths: readonly string[],
  flags: IngestFlags,
  context: CommandContext,
): Promise<number> {
  if (paths.length === 0 && !flags.reembed) {
    throw usageError('Say what to take in: lango ingest PATH…', 'See: lango ingest --help');
  }
  const { terminal } = context;
  const found = await findFiles(paths);
  const collection = flags.collection ?? DEFAULT_COLLECTION;
  const tally: Tally = {
    ...{ added: 0, changed: 0, unchanged: 0, removed: 0, embedded: 0, note: undefined },
    skipped: [...found.skipped],
  };
  terminal.progress.start('looking for files');
  try {
    await withOwner(flags, context, async (owner) => {
      if (paths.length > 0) await submitFiles(found, { owner, collection, tally, terminal });
      if (flags.reembed) {
        const collections = flags.collection === undefined ? {} : { collections: [flags.collection] };
        await owner.updateVectors({ action: 'drop-vectors', ...collections });
      }
      await embed({ owner, tally, terminal });
    });
  } finally {
    terminal.progress.stop();
  }
  printTally(tally, { collection, isJson: flags.json ?? false, terminal });
  return EXIT.ok;
}

interface Work {
  readonly owner: OwnerClient;
  readonly collection: string;
  readonly tally: Tally;
  readonly terminal: Terminal;
}

async function submitFiles(found: Found, work: Work): Promise<void> {
  const { owner, collection, tally, terminal } = work;
  const { maxBytes } = await owner.listDocuments({});
  const kept = new Set<string>();
  for (const [index, file] of found.files.entries()) {
    terminal.progress.label(`${index + 1} of ${found.files.length}  ${file.name}`);
    if (await submitFile(file, { ...work, maxBytes })) kept.add(originOf(file.file));
  }
  const named = new Set(found.files.map(({ file }) => originOf(file)));
  const gone = (await listAll(owner, collection))
    .map(({ origin }) => origin)
    .filter((origin) => !kept.has(origin) && !liesIn(origin, found.unreadable))
    .filter((origin) => named.has(origin) || liesIn(origin, found.folders));
  if (gone.length > 0) tally.removed += await removeAll(owner, collection, gone);
}

/** Resolves with false when nothing of the file is kept. An unreadable file keeps what was taken in from it before. */
async function submitFile(
  { file, name }: FoundFile,
  { owner, collection, tally, maxBytes }: Work & { readonly maxBytes: number },
): Promise<boolean> {
  const read = await readWhole(file, maxBytes).catch((error: unknown) => ({
    unreadable: `it cannot be read: ${errorText(error)}`,
  }));
  if ('unreadable' in read) {
    tally.skipped.push({ file, reason: read.unreadable });
    return true;
  }
  if ('reason' in read) {
    tally.skipped.push({ file, reason: read.reason });
    return false;
  }
  const accepted = await owner.submitDocument({ collection, origin: originOf(file), name, ...read });
  if (accepted.outcome !== 'skipped') {
    tally[accepted.outcome] += 1;
    return true;
  }
  tally.skipped.push({ file, reason: accepted.reason });
  return false;
}

/** Reads the file that was found. A link that has replaced the file since is not followed. */
async function readWhole(
  file: string,
  maxBytes: number,
): Promise<Pick<Submission, 'content' | 'modifiedAt'> | { readonly reason: string }> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const facts = await handle.stat();
    if (!facts.isFile()) return { reason: 'it is no file' };
    if (facts.size > maxBytes) {
      return { reason: `it has ${facts.size} bytes; ${maxBytes} are taken (ingest.maxFileBytes)` };
    }
    const content = await handle.readFile();
    if (content.subarray(0, BINARY_SAMPLE).includes(0) && !/\.pdf$/i.test(file)) {
      return { reason: 'it is binary' };
    }
    return { content, modifiedAt: Math.max(0, Math.floor(facts.mtimeMs)) };
  } finally {
    await handle.close();
  }
}

async function embed({ owner, tally, terminal }: Omit<Work, 'collection'>): Promise<void> {
  let isMore = true;
  while (isMore) {
    terminal.progress.label(`making vectors: ${tally.embedded} passages`);
    const { done, more, note } = await owner.updateVectors({ action: 'embed' });
    tally.embedded += done;
    tally.note = note;
    isMore = more;
  }
}

/** `lango ingest list` */
export async function listDocuments(flags: DocumentFlags, context: CommandContext): Promise<number> {
  const { terminal } = context;
  const documents = await withOwner(flags, context, (owner) => listAll(owner, flags.collection));
  if (flags.json) {
    const shown = documents.map(({ collection, name, origin, bytes, modifiedAt, passages }) => ({
      ...{ collection, name, origin, bytes, modifiedAt, passages },
    }));
    terminal.print(jsonLine({ documents: shown }));
  } else if (documents.length === 0) {
    terminal.print('There are no documents. To take some in: lango ingest PATH…');
  } else {
    for (const { collection, name, origin, passages } of documents) {
      terminal.print(safeLine(`${collection}  ${name}  ${counted(passages, 'passage')}  ${origin}`));
    }
  }
  return EXIT.ok;
}

/** `lango ingest remove PATH…` and `lango ingest remove --all`. */
export async function removeDocuments(
  paths: readonly string[],
  flags: RemoveFlags,
  context: CommandContext,
): Promise<number> {
  const { all = false, collection = DEFAULT_COLLECTION } = flags;
  if (all === paths.length > 0) throw usageError('Say what to forget: paths, or --all.');
  const places = await Promise.all(paths.map((given) => realpath(given).catch(() => path.resolve(given))));
  const removed = await withOwner(flags, context, async (owner) => {
    if (all) return (await owner.removeDocuments({ collection, all })).removed;
    const origins = (await listAll(owner, collection))
      .map(({ origin }) => origin)
      .filter((origin) => liesIn(origin, places));
    if (origins.length > 0) return removeAll(owner, collection, origins);
    throw new LangoError('not-found', `Nothing in ${collection} comes from ${paths.join(', ')}.`, {
      hint: 'See what there is, and in which collection: lango ingest list',
    });
  });
  const { terminal } = context;
  if (flags.json) terminal.print(jsonLine({ collection, removed }));
  else terminal.print(`Removed ${counted(removed, 'document')} from ${safeLine(collection)}.`);
  return EXIT.ok;
}

async function listAll(owner: OwnerClient, collection: string | undefined): Promise<ListedDocuments> {
  const documents: ListedDocuments[number][] = [];
  for (let after: string | undefined = ''; after !== undefined;) {
    const only = collection === undefined ? {} : { collection };
    const page: ResultOf<'listDocuments'> = await owner.listDocuments({
      ...only,
      ...(after === '' ? {} : { after }),
    });
    documents.push(...page.documents);
    after = page.next;
  }
  return documents;
}

async function removeAll(
  owner: OwnerClient,
  collection: string,
  origins: readonly string[],
): Promise<number> {
  let removed = 0;
  for (let at = 0; at < origins.length; at += REMOVED_AT_ONCE) {
    const batch = origins.slice(at, at + REMOVED_AT_ONCE);
    removed += (await owner.removeDocuments({ collection, origins: batch })).removed;
  }
  return removed;
}

function originOf(file: string): string {
  return pathToFileURL(file).href;
}

function liesIn(origin: string, places: readonly string[]): boolean {
  return places.some((place) => origin === originOf(place) || origin.startsWith(`${originOf(place)}/`));
}

interface Printing {
  readonly collection: string;
  readonly isJson: boolean;
  readonly terminal: Terminal;
}

function printTally(tally: Tally, { collection, isJson, terminal }: Printing): void {
  const { added, changed, unchanged, removed, embedded, note, skipped } = tally;
  if (isJson) {
    const counts = { added, changed, unchanged, removed, embedded };
    terminal.print(jsonLine({ collection, ...counts, skipped, note: note ?? null }));
    return;
  }
  for (const { file, reason } of skipped.slice(0, SHOWN_SKIPPED)) {
    terminal.note(safeLine(`Skipped ${file}: ${reason}.`));
  }
  if (skipped.length > SHOWN_SKIPPED) terminal.note(`Skipped ${skipped.length - SHOWN_SKIPPED} more.`);
  terminal.print(
    safeLine(
      `${collection}: ${added} added, ${changed} changed, ${unchanged} unchanged, ${removed} removed, ${skipped.length} skipped; ${counted(embedded, 'vector')} made.`,
    ),
  );
  if (note !== undefined) terminal.note(safeLine(note));
}
