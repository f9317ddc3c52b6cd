import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { isJsonObject } from '../../core/json.js';
import type { RunningProgram } from '../../core/program.js';

/** Maximum size of a message. A server that writes a larger one is ended. */
export const MESSAGE_MAX_BYTES = 2 * 1024 * 1024;
/** Maximum lines a second. A server that writes more is ended, because reading them would block the event loop. */
const LINES_PER_SECOND = 2_000;
const SECOND_MS = 1_000;
const LINE_FEED = 0x0a;

/** Exchanges messages with a process, one a line. Ignores other lines, which programs print to stdout by mistake. */
export class ProcessTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport['onmessage'];
  // The library recognizes a transport to a process, which may know only an old protocol, by these two members.
  readonly stderr = null;
  readonly pid = null;
  readonly #process: RunningProgram;
  #line: Buffer[] = [];
  #lineBytes = 0;
  #lines = 0;
  #since = 0;
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
    let start = 0;
    for (
      let end = chunk.indexOf(LINE_FEED);
      end !== -1 && !this.#isClosed;
      end = chunk.indexOf(LINE_FEED, start)
    ) {
      this.#collect(chunk.subarray(start, end));
      const line = Buffer.concat(this.#line).toString('utf8');
      this.#line = [];
      this.#lineBytes = 0;
      this.#deliver(line);
      start = end + 1;
    }
    this.#collect(chunk.subarray(start));
  }

  #collect(part: Buffer): void {
    this.#lineBytes += part.length;
    if (this.#isClosed) return;
    if (this.#lineBytes <= MESSAGE_MAX_BYTES) this.#line.push(part);
    else void this.close();
  }

  #deliver(line: string): void {
    if (Date.now() - this.#since > SECOND_MS) {
      this.#since = Date.now();
      this.#lines = 0;
    }
    this.#lines += 1;
    if (this.#lines > LINES_PER_SECOND) return void this.close();
    try {
      const message: unknown = JSON.parse(line);
      if (isJsonObject(message) && message['jsonrpc'] === '2.0')
        this.onmessage?.(message as unknown as JSONRPCMessage);
    } catch (error) {
      this.onerror?.(error as Error);
    }
  }
}
