import path from 'node:path';
import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import type { CommandCall, Report, Terminal } from '../../core/command.js';
import { LangoError, errorText, isLangoError } from '../../core/errors.js';
import type { OperationClient, ResultOf } from '../../core/operation.js';
import { pagesOf } from '../../core/page.js';
import { counted } from '../../core/text.js';
import { usageError } from '../../terminal/exit.js';
import { safeLine } from '../../terminal/safe-text.js';
import { findFiles, type FoundFiles } from './found-files.js';
import { KNOWLEDGE_OPERATIONS, type Submission } from './operations.js';
import { DEFAULT_COLLECTION } from './stores/library.js';

type Call = CommandCall<
  unknown,
  { readonly collection?: string; readonly reembed?: boolean; readonly all?: boolean }
>;
type Owner = OperationClient<typeof KNOWLEDGE_OPERATIONS>;

type ListedDocument = ResultOf<(typeof KNOWLEDGE_OPERATIONS)['listDocuments']>['documents'][number];

const SHOWN_SKIPPED = 20;
const BINARY_SAMPLE = 8_000;
const REMOVED_AT_ONCE = 100;

/** `lango ingest PATH…` and `lango ingest --reembed`. */
export async function ingest(call: Call, paths: readonly string[]): Promise<Report> {
  const { flags, terminal } = call;
  if (paths.length === 0 && !flags.reembed)
    throw usageError('Say what to add: lango ingest PATH…', 'See: lango ingest --help');
  const found = await findFiles(paths);
  terminal.progress.start('looking for files');
  try {
    return await call.withOwner(KNOWLEDGE_OPERATIONS, async (owner) => {
      const work = new Ingestion(owner, call, found);
      if (paths.length > 0) await work.submit();
      if (flags.reembed) {
        const collections = flags.collection === undefined ? undefined : [flags.collection];
        await owner.updateVectors({ action: 'drop-vectors', collections });
      }
      await work.embed();
      return work.report();
    });
  } finally {
    terminal.progress.stop();
  }
}

/** Adds files to a collection and counts what happens. */
class Ingestion {
  readonly #owner: Owner;
  readonly #terminal: Terminal;
  readonly #collection: string;
  readonly #found: FoundFiles;
  readonly #counts = { added: 0, changed: 0, unchanged: 0, removed: 0, embedded: 0 };
  /** Why no more vectors are made. */
  #note: string | undefined;

  constructor(owner: Owner, { flags, terminal }: Call, found: FoundFiles) {
    this.#owner = owner;
    this.#terminal = terminal;
    this.#collection = flags.collection ?? DEFAULT_COLLECTION;
    this.#found = found;
  }

  /** Adds the files, and removes the documents whose files are gone or cannot be added any more. */
  async submit(): Promise<void> {
    const { files, folders, unreadable } = this.#found;
    const { maxBytes } = await this.#owner.listDocuments({});
    /** By origin: whether anything of the file is kept. */
    const isKept = new Map<string, boolean>();
    for (const [file, name] of files) {
      this.#terminal.progress.label(`${isKept.size + 1} of ${files.size}  ${name}`);
      isKept.set(originOf(file), await this.#submitFile(file, name, maxBytes));
    }
    const gone = (await listAll(this.#owner, this.#collection))
      .map(({ origin }) => origin)
      .filter((origin) => !isKept.get(origin) && !liesIn(origin, unreadable))
      .filter((origin) => isKept.has(origin) || liesIn(origin, folders));
    this.#counts.removed += await removeAll(this.#owner, this.#collection, gone);
  }

  /** Resolves with whether anything of the file is kept: what was added before stays when the file cannot be read now. */
  async #submitFile(file: string, name: string, maxBytes: number): Promise<boolean> {
    const skip = (reason: string, isKept: boolean): boolean => {
      this.#found.skipped.push({ file, reason });
      return isKept;
    };
    const read = await readWhole(file, maxBytes).catch(errorText);
    if (typeof read === 'string') return skip(`it cannot be read: ${read}`, true);
    if ('reason' in read) return skip(read.reason, false);
    const [collection, origin] = [this.#collection, originOf(file)];
    try {
      const accepted = await this.#owner.submitDocument({ collection, origin, name, ...read });
      if (accepted.outcome === 'skipped') return skip(accepted.reason, false);
      this.#counts[accepted.outcome] += 1;
      return true;
    } catch (error) {
      if (!isLangoError(error, 'timeout') && !isLangoError(error, 'too-large')) throw error;
      return skip(`it cannot be read: ${error.message.replace(/\.$/, '')}`, true);
    }
  }

  async embed(): Promise<void> {
    for (let isMore = true; isMore;) {
      this.#terminal.progress.label(`making vectors: ${this.#counts.embedded} passages`);
      const { done, more, note } = await this.#owner.updateVectors({ action: 'embed' });
      this.#counts.embedded += done;
      this.#note = note;
      isMore = more;
    }
  }

  report(): Report {
    const { added, changed, unchanged, removed, embedded } = this.#counts;
    const { skipped } = this.#found;
    const [collection, note] = [this.#collection, this.#note];
    const counts = `${added} added, ${changed} changed, ${unchanged} unchanged, ${removed} removed, ${skipped.length} skipped`;
    const shown = skipped.slice(0, SHOWN_SKIPPED).map(({ file, reason }) => `Skipped ${file}: ${reason}.`);
    const more = skipped.length - shown.length;
    if (more > 0) shown.push(`Skipped ${more} more.`);
    if (note !== undefined) shown.push(note);
    return {
      json: { collection, ...this.#counts, skipped, note: note ?? null },
      lines: [safeLine(`${collection}: ${counts}; ${counted(embedded, 'vector')} made.`)],
      notes: shown.map((line) => safeLine(line)),
    };
  }
}

/** Reads the file that was found. A link that has replaced the file since is not followed. */
async function readWhole(
  file: string,
  maxBytes: number,
): Promise<Pick<Submission, 'content' | 'modifiedAt'> | { readonly reason: string }> {
  await using handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  const facts = await handle.stat();
  if (!facts.isFile()) return { reason: 'it is not a file' };
  if (facts.size > maxBytes)
    return { reason: `it has ${facts.size} bytes, and the limit is ${maxBytes} (ingest.maxFileBytes)` };
  const content = await handle.readFile();
  if (content.subarray(0, BINARY_SAMPLE).includes(0) && !/\.pdf$/i.test(file))
    return { reason: 'it is binary' };
  return { content, modifiedAt: Math.max(0, Math.floor(facts.mtimeMs)) };
}

/** `lango ingest list` */
export async function listDocuments(call: Call): Promise<Report> {
  const documents = await call.withOwner(KNOWLEDGE_OPERATIONS, (owner) =>
    listAll(owner, call.flags.collection),
  );
  const none = 'There are no documents. To add some: lango ingest PATH…';
  const lines = documents.map(({ collection, name, origin, passages }) =>
    safeLine(`${collection}  ${name}  ${counted(passages, 'passage')}  ${origin}`),
  );
  return { json: { documents }, lines: lines.length === 0 ? [none] : lines };
}

/** `lango ingest remove PATH…` and `lango ingest remove --all`. */
export async function removeDocuments(call: Call, paths: readonly string[]): Promise<Report> {
  const { all = false, collection = DEFAULT_COLLECTION } = call.flags;
  if (all === paths.length > 0) throw usageError('Say what to remove: paths, or --all.');
  const places = await Promise.all(paths.map((given) => realpath(given).catch(() => path.resolve(given))));
  const removed = await call.withOwner(KNOWLEDGE_OPERATIONS, async (owner) => {
    if (all) return (await owner.removeDocuments({ collection, all })).removed;
    const origins = (await listAll(owner, collection))
      .map(({ origin }) => origin)
      .filter((origin) => liesIn(origin, places));
    if (origins.length > 0) return removeAll(owner, collection, origins);
    throw new LangoError('not-found', `Nothing in ${collection} comes from ${paths.join(', ')}.`, {
      hint: 'See what there is, and in which collection: lango ingest list',
    });
  });
  const lines = [`Removed ${counted(removed, 'document')} from ${safeLine(collection)}.`];
  return { json: { collection, removed }, lines };
}

async function listAll(owner: Owner, collection: string | undefined): Promise<readonly ListedDocument[]> {
  const documents: ListedDocument[] = [];
  for await (const page of pagesOf((after) => owner.listDocuments({ collection, after })))
    documents.push(...page.documents);
  return documents;
}

async function removeAll(owner: Owner, collection: string, origins: readonly string[]): Promise<number> {
  let removed = 0;
  for (let at = 0; at < origins.length; at += REMOVED_AT_ONCE) {
    const batch = origins.slice(at, at + REMOVED_AT_ONCE);
    removed += (await owner.removeDocuments({ collection, origins: batch })).removed;
  }
  return removed;
}

const originOf = (file: string): string => pathToFileURL(file).href;

function liesIn(origin: string, places: readonly string[]): boolean {
  return places.some((place) => origin === originOf(place) || origin.startsWith(`${originOf(place)}/`));
}
