const HEAD_SHARE = 0.7;

/** Keeps the head and the tail of an output in a fixed amount of memory. Positions are bytes of the whole output. */
export class Capture {
  readonly #head: Buffer;
  readonly #ring: Buffer;
  #total = 0;

  constructor(limitBytes: number) {
    const headBytes = Math.floor(limitBytes * HEAD_SHARE);
    this.#head = Buffer.alloc(headBytes);
    this.#ring = Buffer.alloc(limitBytes - headBytes);
  }

  get totalBytes(): number {
    return this.#total;
  }

  /** Whether a part of the output was dropped. */
  get isCut(): boolean {
    return this.#total > this.#head.length + this.#ring.length;
  }

  append(chunk: Buffer): void {
    const toHead = Math.min(chunk.length, Math.max(0, this.#head.length - this.#total));
    chunk.copy(this.#head, this.#total, 0, toHead);
    const rest = chunk.subarray(toHead);
    const tail = rest.subarray(Math.max(0, rest.length - this.#ring.length));
    const start = this.#total + chunk.length - tail.length - this.#head.length;
    for (let done = 0; done < tail.length;) {
      const at = (start + done) % this.#ring.length;
      done += tail.copy(this.#ring, at, done);
    }
    this.#total += chunk.length;
  }

  /** The whole output, or its head and tail with a mark between them: the number of missing bytes and `advice`. */
  text(advice: string): string {
    if (!this.isCut) return this.#bytes(0, this.#total).toString('utf8');
    const head = wholeCharacters(this.#bytes(0, this.#head.length));
    const tail = wholeCharacters(this.#bytes(this.#tailStart(), this.#total));
    const missing = this.#total - head.length - tail.length;
    return `${head.toString('utf8')}\n[… ${missing} bytes left out; ${advice} …]\n${tail.toString('utf8')}`;
  }

  /**
   * Returns at most `maxBytes` (4 or more) from `offset` on, or from the tail when that part was dropped, with the offset at
   * which the text begins.
   */
  slice(offset: number, maxBytes: number) {
    const inGap = this.isCut && offset >= this.#head.length && offset < this.#tailStart();
    const start = Math.min(inGap ? this.#tailStart() : offset, this.#total);
    const kept = this.isCut && start < this.#head.length ? this.#head.length : this.#total;
    const bytes = withoutBrokenEnd(this.#bytes(start, Math.min(start + maxBytes, kept)));
    return { text: bytes.toString('utf8'), offset: start, nextOffset: start + bytes.length };
  }

  #tailStart(): number {
    return Math.max(this.#head.length, this.#total - this.#ring.length);
  }

  /** The kept bytes of `[start, end)`, which must not overlap the dropped part. */
  #bytes(start: number, end: number): Buffer {
    const parts = [this.#head.subarray(start, end)];
    for (let at = Math.max(start, this.#head.length); at < end;) {
      const index = (at - this.#head.length) % this.#ring.length;
      const part = this.#ring.subarray(index, index + end - at);
      parts.push(part);
      at += part.length;
    }
    return Buffer.concat(parts);
  }
}

const LONGEST_CHARACTER_BYTES = 4;

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

function wholeCharacters(bytes: Buffer): Buffer {
  let start = 0;
  while (start < LONGEST_CHARACTER_BYTES && isContinuation(bytes[start])) start += 1;
  return withoutBrokenEnd(bytes.subarray(start));
}

function withoutBrokenEnd(bytes: Buffer): Buffer {
  let lead = bytes.length - 1;
  while (lead > 0 && lead > bytes.length - LONGEST_CHARACTER_BYTES && isContinuation(bytes[lead])) lead -= 1;
  const byte = bytes[lead] ?? 0;
  const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
  return lead > 0 && lead + needed > bytes.length ? bytes.subarray(0, lead) : bytes;
}
