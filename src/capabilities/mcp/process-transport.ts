import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { isJsonObject } from '../../core/json.js';
import type { RunningProgram } from '../../core/program.js';

/** Maximum size of a message. A server that writes a larger one is ended. */
const MESSAGE_MAX_BYTES = 2 * 1024 * 1024;
/** Maximum lines a second. A server that writes more is ended. */
const LINES_PER_SECOND = 2_000;
const SECOND_MS = 1_000;
const LINE_FEED = 0x0a;

/** Measures what a server sends, because reading messages that are too long or too many would block the event loop. */
export class MessageBounds {
  readonly #linesPerSecond: number;
  #bytes = 0;
  #lines = 0;
  #since = 0;

  constructor(linesPerSecond: number) {
    this.#linesPerSecond = linesPerSecond;
  }

  /** Whether the messages are still short and few enough with this chunk. */
  admit(chunk: Uint8Array): boolean {
    if (Date.now() - this.#since > SECOND_MS) {
      this.#since = Date.now();
      this.#lines = 0;
    }
    for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, at + 1))
      this.#lines += 1;
    const last = chunk.lastIndexOf(LINE_FEED);
    this.#bytes = last === -1 ? this.#bytes + chunk.length : chunk.length - last;
    return this.#bytes <= MESSAGE_MAX_BYTES && this.#lines <= this.#linesPerSecond;
  }
}

/** Exchanges messages with a process, one a line. Ignores other lines, which programs print to stdout by mistake. */
export class ProcessTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport['onmessage'];
  // The library recognizes a transport to a process, which may know only an old protocol, by these two members.
  readonly stderr = null;
  readonly pid = null;
  readonly #process: RunningProgram;
  readonly #bounds = new MessageBounds(LINES_PER_SECOND);
  /** The start of a line whose end is yet to come. */
  #start: Buffer[] = [];
  #isClosed = false;

  constructor(process: RunningProgram) {
    this.#process = process;
  }

  async start(): Promise<void> {
    const { stdout, ended } = this.#process;
    stdout.on('data', (chunk: Buffer) => this.#read(chunk));
    void ended.catch(() => undefined).then(() => this.onclose?.());
  }

  send(message: JSONRPCMessage): Promise<void> {
    const { stdin } = this.#process;
    const line = `${JSON.stringify(message)}\n`;
    return new Promise((resolve, reject) => {
      stdin.write(line, (error) => (error ? reject(error) : resolve()));
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#process.stop().catch(() => undefined);
  }

  #read(chunk: Buffer): void {
    if (this.#isClosed) return;
    if (!this.#bounds.admit(chunk)) return void this.close();
    const end = chunk.lastIndexOf(LINE_FEED);
    this.#start.push(chunk.subarray(0, end === -1 ? undefined : end));
    if (end === -1) return;
    const lines = Buffer.concat(this.#start).toString('utf8').split('\n');
    this.#start = [chunk.subarray(end + 1)];
    for (const line of lines) this.#deliver(line);
  }

  #deliver(line: string): void {
    try {
      const message: unknown = JSON.parse(line);
      if (isJsonObject(message) && message['jsonrpc'] === '2.0')
        this.onmessage?.(message as unknown as JSONRPCMessage);
    } catch (error) {
      this.onerror?.(error as Error);
    }
  }
}
