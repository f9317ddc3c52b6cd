import type { FileHandle } from 'node:fs/promises';

export interface LineRange {
  /** The first line, counted from 1. */
  readonly offset: number;
  readonly limit: number;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

export interface LinePage {
  /** Whole lines as they stand, with their line breaks; the only one may be cut at `maxBytes`. */
  readonly bytes: Buffer;
  /** How many lines `bytes` holds or begins. */
  readonly lines: number;
  /** Lines seen up to the end of the page; all of the file's when `hasMore` is false. */
  readonly seen: number;
  readonly hasMore: boolean;
  /** Whether the page is one line that is longer than `maxBytes`. */
  readonly isCut: boolean;
}

const CHUNK_BYTES = 64 * 1024;
const LINE_FEED = 10;

/** Reads lines from the start of a file on, keeping no more than a page in memory. */
export async function readLines(handle: FileHandle, range: LineRange): Promise<LinePage> {
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

/** The content in pieces that are valid until the next one is asked for. */
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
  readonly #whole: Buffer[] = [];
  #open: Buffer[] = [];
  #bytes = 0;
  #lines = 0;
  /** Lines that are complete, on the page or before it. */
  #seen = 0;
  #isCut = false;
  #isOpen = false;

  readonly #range: LineRange;

  constructor(range: LineRange) {
    this.#range = range;
  }

  /** Takes a piece of a line; false when the page has no room for it. */
  add(piece: Buffer, endsLine: boolean): boolean {
    if (this.#isCut || this.#lines === this.#range.limit) return false;
    if (this.#seen + 1 >= this.#range.offset && !this.#keep(piece)) return false;
    this.#isOpen = !endsLine;
    if (endsLine) this.#endLine();
    return true;
  }

  finish(hasMore: boolean): LinePage {
    if (this.#isOpen && (!hasMore || this.#isCut)) this.#endLine();
    const bytes = Buffer.concat(this.#whole);
    return { bytes, lines: this.#lines, seen: this.#seen, hasMore, isCut: this.#isCut };
  }

  #keep(piece: Buffer): boolean {
    const room = this.#range.maxBytes - this.#bytes;
    if (piece.length <= room) {
      this.#open.push(Buffer.from(piece));
      this.#bytes += piece.length;
      return true;
    }
    if (this.#lines > 0) return false;
    this.#open.push(Buffer.from(piece.subarray(0, room)));
    this.#isCut = true;
    this.#isOpen = true;
    return false;
  }

  #endLine(): void {
    this.#seen += 1;
    if (this.#seen >= this.#range.offset) this.#lines += 1;
    this.#whole.push(...this.#open);
    this.#open = [];
    this.#isOpen = false;
  }
}
