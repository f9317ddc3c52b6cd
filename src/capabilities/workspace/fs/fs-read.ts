import { isUtf8 } from 'node:buffer';
import type { FileHandle } from 'node:fs/promises';
import { z } from 'zod';
import { LangoError } from '../../../core/errors.js';
import { counted } from '../../../core/text.js';
import { defineTool, type Tool } from '../../../core/tool.js';
import { binaryKind, SAMPLE_BYTES } from '../../../disk/file-kind.js';
import { openFile } from './files.js';
import { pathArgument, pathField } from './paths.js';
import type { Workspace } from './workspace.js';

const LINES_DEFAULT = 2_000;

const schema = z.strictObject({
  path: pathField(),
  offset: z.number().int().min(1).optional().describe('First line, from 1'),
  limit: z.number().int().min(1).optional().describe(`Lines; ${LINES_DEFAULT} by default`),
});

export function readTool(workspace: Workspace, maxBytes: number): Tool {
  return defineTool({
    name: 'fs_read',
    description:
      'Reads a text file, a long one in pages: the note at the end gives the next offset. For a binary file, returns its ' +
      'type and size.',
    schema,
    effect: 'pure',
    bringsOutside: true,
    execute: ({ path, offset = 1, limit = LINES_DEFAULT }, { signal, ...scope }) =>
      workspace.read(scope, pathArgument(path), async (access) => {
        const opened = await access.find(pathArgument(path));
        const shown = access.displayPath(opened.path);
        await using handle = await openFile(opened, shown);
        const { buffer, bytesRead } = await handle.read(Buffer.alloc(SAMPLE_BYTES), 0, SAMPLE_BYTES, 0);
        const kind = binaryKind(buffer.subarray(0, bytesRead));
        if (kind === undefined) {
          const page = await readLines(handle, { offset, limit, maxBytes, signal });
          return { content: describePage(shown, offset, page) };
        }
        const about = `${kind}, ${counted(opened.stats.size, 'byte')}`;
        return { content: `${shown} is a binary file, ${about}; fs_read shows text only.` };
      }),
  });
}

function describePage(shown: string, offset: number, page: LinePage): string {
  const { bytes, lines, seen, hasMore, isCut } = page;
  if (lines === 0) {
    if (offset === 1) return `${shown} is empty.`;
    const problem = `offset: ${offset} is past the end; ${shown} has ${counted(seen, 'line')}.`;
    throw new LangoError('invalid-input', problem);
  }
  const text = bytes.toString('utf8');
  const notes = [
    isCut && `line ${offset} is longer than a page and is cut here`,
    !isUtf8(bytes) && 'not all of it is UTF-8 text: invalid bytes are shown as \uFFFD',
    hasMore && `lines ${offset}-${offset + lines - 1}; continue with offset ${offset + lines}`,
  ].filter((note) => note !== false);
  return notes.length === 0 ? text : `${text.replace(/\n$/, '')}\n[${notes.join('; ')}]`;
}

interface LineRange {
  /** The first line, counted from 1. */
  readonly offset: number;
  readonly limit: number;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

interface LinePage {
  /** Whole lines with their line breaks. A single line longer than `maxBytes` is cut. */
  readonly bytes: Buffer;
  /** Number of lines in `bytes`, including a cut one. */
  readonly lines: number;
  /** Number of lines up to the end of the page; all lines of the file when `hasMore` is false. */
  readonly seen: number;
  readonly hasMore: boolean;
  /** Whether the page is a single line that was cut at `maxBytes`. */
  readonly isCut: boolean;
}

const CHUNK_BYTES = 64 * 1024;
const LINE_FEED = 10;

/** Reads lines from the start of a file and keeps no more than one page in memory. */
async function readLines(handle: FileHandle, range: LineRange): Promise<LinePage> {
  const page = new PageBuilder(range);
  for await (const chunk of readChunks(handle, range.signal)) {
    for (let start = 0; start < chunk.length;) {
      const feed = chunk.indexOf(LINE_FEED, start);
      const end = feed === -1 ? chunk.length : feed + 1;
      if (!page.add(chunk.subarray(start, end), feed !== -1)) return page.finish(true);
      start = end;
    }
  }
  return page.finish(false);
}

/** Yields the content in chunks. A chunk is valid until the next one is requested. */
async function* readChunks(handle: FileHandle, signal: AbortSignal): AsyncGenerator<Buffer> {
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  for (;;) {
    signal.throwIfAborted();
    const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
  }
}

class PageBuilder {
  /** The lines on the page that are complete. */
  readonly #complete: Buffer[] = [];
  /** The parts so far of the line that is being read. */
  #current: Buffer[] = [];
  #bytes = 0;
  #lines = 0;
  /** Complete lines, on the page or before it. */
  #seen = 0;
  #isCut = false;
  #isOpen = false;
  readonly #range: LineRange;

  constructor(range: LineRange) {
    this.#range = range;
  }

  /** Adds a part of a line. Returns false when the page is full. */
  add(part: Buffer, endsLine: boolean): boolean {
    if (this.#isCut || this.#lines === this.#range.limit) return false;
    if (this.#seen + 1 >= this.#range.offset && !this.#keep(part)) return false;
    this.#isOpen = !endsLine;
    if (endsLine) this.#endLine();
    return true;
  }

  finish(hasMore: boolean): LinePage {
    if (this.#isOpen && (!hasMore || this.#isCut)) this.#endLine();
    const bytes = Buffer.concat(this.#complete);
    return { bytes, lines: this.#lines, seen: this.#seen, hasMore, isCut: this.#isCut };
  }

  #keep(part: Buffer): boolean {
    const remaining = this.#range.maxBytes - this.#bytes;
    if (part.length <= remaining) {
      this.#current.push(Buffer.from(part));
      this.#bytes += part.length;
      return true;
    }
    if (this.#lines > 0) return false;
    this.#current.push(Buffer.from(part.subarray(0, remaining)));
    this.#isCut = true;
    this.#isOpen = true;
    return false;
  }

  #endLine(): void {
    this.#seen += 1;
    if (this.#seen >= this.#range.offset) this.#lines += 1;
    this.#complete.push(...this.#current);
    this.#current = [];
    this.#isOpen = false;
  }
}
