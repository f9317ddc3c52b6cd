import { on } from 'node:events';
import type { Socket } from 'node:net';
import { connect } from 'node:net';

const HEAD_END = '\r\n\r\n';
/** The end of the last chunk and of the body. JSON contains no bare line breaks, so these bytes occur nowhere else. */
const LAST_CHUNK = Buffer.from('\r\n0\r\n\r\n');
const SILENCE_MS = 120_000;
const CLOSED = 'the server closed the connection';

export interface BenchResponse {
  readonly status: number;
  /** The whole body, without its transfer coding. */
  text(): string;
}

/**
 * One kept-alive HTTP/1.1 connection for one request at a time. It knows only as much HTTP as the bench's servers use,
 * so that it costs a fraction of their CPU.
 */
export class Connection {
  readonly #socket: Socket;
  #received: Buffer[] = [];
  #size = 0;
  #head: Head | undefined;
  #settle: { resolve(answer: BenchResponse): void; reject(error: Error): void } | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.setTimeout(SILENCE_MS, () => socket.destroy(new Error('the server was silent for too long')));
    socket.on('data', (bytes) => this.#take(bytes));
    socket.on('error', (error) => this.#settle?.reject(error));
    socket.on('close', () => this.#settle?.reject(new Error(CLOSED)));
  }

  static open(port: number): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        resolve(new Connection(socket));
      });
    });
  }

  /** Sends a request, head and body, and resolves with the whole response. */
  request(text: string): Promise<BenchResponse> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      this.#send(text);
    });
  }

  /** Sends a request for a stream that never ends, and resolves with the first bytes of its response. */
  async begin(text: string): Promise<void> {
    this.#socket.setTimeout(0);
    await this.until(text, '');
  }

  /** Sends a request for a stream, and resolves once its response holds a text. Rejects when the connection is closed. */
  async until(text: string, expected: string): Promise<void> {
    let received = '';
    this.#send(text);
    const answers = on(this.#socket, 'data', { close: ['close'] }) as AsyncIterable<[Buffer]>;
    for await (const [bytes] of answers) {
      received += bytes.toString();
      if (received.includes(expected)) return;
    }
    throw new Error(CLOSED);
  }

  close(): void {
    this.#settle = undefined;
    this.#socket.destroy();
  }

  /** Throws when the server has closed the connection: no event tells it a second time. */
  #send(text: string): void {
    if (this.#socket.destroyed) throw new Error(CLOSED);
    this.#socket.write(text);
  }

  #take(bytes: Buffer): void {
    this.#received.push(bytes);
    this.#size += bytes.length;
    this.#head ??= parseHead(this.#join());
    const head = this.#head;
    if (!head || !this.#isWhole(head)) return;
    const body = this.#join().subarray(head.size);
    const settle = this.#settle;
    this.#received = [];
    this.#size = 0;
    this.#head = undefined;
    this.#settle = undefined;
    settle?.resolve({
      status: head.status,
      text: () => (head.length === undefined ? withoutChunks(body) : body.toString()),
    });
  }

  #isWhole(head: Head): boolean {
    if (head.length !== undefined) return this.#size >= head.size + head.length;
    const last = this.#received.at(-1)!;
    const tail = last.length >= LAST_CHUNK.length ? last : this.#join();
    return tail.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK);
  }

  #join(): Buffer {
    if (this.#received.length > 1) this.#received = [Buffer.concat(this.#received)];
    return this.#received[0]!;
  }
}

interface Head {
  readonly status: number;
  /** Bytes of the head itself. */
  readonly size: number;
  /** Bytes of the body; undefined when it comes in chunks. */
  readonly length: number | undefined;
}

function parseHead(bytes: Buffer): Head | undefined {
  const end = bytes.indexOf(HEAD_END);
  if (end === -1) return undefined;
  const text = bytes.toString('latin1', 0, end);
  const length = /\r\ncontent-length: *(\d+)/i.exec(text)?.[1];
  return {
    status: Number(text.slice(9, 12)),
    size: end + HEAD_END.length,
    length: length === undefined ? undefined : Number(length),
  };
}

function withoutChunks(bytes: Buffer): string {
  const pieces: Buffer[] = [];
  for (let at = 0; ;) {
    const lineEnd = bytes.indexOf('\r\n', at);
    const size = parseInt(bytes.toString('latin1', at, lineEnd), 16);
    if (!(size > 0)) return Buffer.concat(pieces).toString();
    pieces.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
}
