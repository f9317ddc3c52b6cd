import { Contract } from '../core/service.js';
import type { ChildProcess } from 'node:child_process';
import { LangoError, serverStopping } from '../core/errors.js';
import { scopeKey, type Scope } from '../core/task.js';
import { abortable } from '../core/time.js';
import type {
  ParserBegin,
  ParserInput,
  ParserKind,
  ParserModule,
  ParserOutput,
  ParserReply,
  ParserRequest,
} from './parser-entry.js';
import { endedForMemory, fromPlainError, startProcess } from './separate-process.js';

export interface ParserLimits {
  readonly timeoutSeconds: number; // Maximum time of one input. The start of a process does not count.
  readonly maxMemoryBytes: number; // Maximum resident memory of one process, in bytes.
  readonly processes: number; // Maximum number of processes.
}

/** `scope` is the owner of the input. Inputs of one owner are parsed one after another, so that owners take turns. */
type ParserCall = Readonly<{ scope: Scope; signal: AbortSignal }>;

interface Job extends ParserRequest {
  readonly owner: string;
  readonly signal: AbortSignal;
  readonly resolve: (output: unknown) => void;
  readonly reject: (error: unknown) => void;
}

const MAX_WAITING_OF_OWNER = 8;
const MAX_WAITING = 32;
const RETRY_AFTER_MS = 1_000;
/** Maximum time until a process has loaded what it parses with: a busy machine may take long. */
const START_MS = 60_000;
/** An idle process is ended after this time, to free its memory. */
const IDLE_MS = 30_000;
const BYTES_PER_MIB = 1024 * 1024;

/** Parses bytes from outside in processes apart from the server, started on demand, within limits of time and memory. */
export class Parsers {
  readonly #limits: ParserLimits;
  /** The first job whose owner is not busy is the next one to be served. */
  readonly #waiting = new Set<Job>();
  readonly #busy = new Map<string, ParserProcess>();
  readonly #idle = new Set<ParserProcess>();
  #isClosed = false;

  constructor(limits: ParserLimits) {
    this.#limits = { ...limits };
  }

  /**
   * Parses an input. Rejects with the parser's error; with `timeout` or `too-large` when the input takes too much time or
   * memory; with `too-many` when too many inputs wait; with `unavailable` when the process ended for another reason; and
   * with the reason of the signal, which also ends the parsing.
   */
  parse<Kind extends ParserKind>(
    kind: Kind,
    input: ParserInput<Kind>,
    call: ParserCall,
  ): Promise<ParserOutput<Kind>>;
  parse<Input, Output>(module: ParserModule<Input, Output>, input: Input, call: ParserCall): Promise<Output>;
  async parse(
    parser: ParserKind | ParserModule<never, unknown>,
    input: unknown,
    { scope, signal }: ParserCall,
  ): Promise<unknown> {
    signal.throwIfAborted();
    if (this.#isClosed) throw serverStopping();
    const owner = scopeKey(scope);
    if (this.#waitingOf(owner).length >= MAX_WAITING_OF_OWNER || this.#waiting.size >= MAX_WAITING)
      throw tooMany();
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const name = typeof parser === 'string' ? parser : parser.url;
    const job: Job = { parser: name, input, owner, signal, resolve, reject };
    this.#waiting.add(job);
    this.#startNext();
    try {
      return await abortable(promise, signal);
    } finally {
      this.#waiting.delete(job);
    }
  }

  /** Ends all processes and rejects all calls with `unavailable`. */
  close(): void {
    this.#isClosed = true;
    for (const { reject } of this.#waiting) reject(serverStopping());
    for (const one of [...this.#busy.values(), ...this.#idle]) one.end(serverStopping());
    this.#waiting.clear();
    this.#idle.clear();
  }

  #waitingOf(owner: string): readonly Job[] {
    return [...this.#waiting].filter((job) => job.owner === owner);
  }

  #startNext(): void {
    if (this.#busy.size >= this.#limits.processes) return;
    const next = [...this.#waiting].find(({ owner, signal }) => !signal.aborted && !this.#busy.has(owner));
    if (!next) return;
    this.#waiting.delete(next);
    void this.#run(next);
    this.#startNext();
  }

  async #run(job: Job): Promise<void> {
    const worker = [...this.#idle].at(-1) ?? new ParserProcess(this.#limits);
    this.#idle.delete(worker);
    this.#busy.set(job.owner, worker);
    try {
      job.resolve(await worker.run(job));
    } catch (error) {
      job.reject(error);
    }
    this.#busy.delete(job.owner);
    // Moves the owner to the end of the queue.
    for (const own of this.#waitingOf(job.owner)) {
      this.#waiting.delete(own);
      this.#waiting.add(own);
    }
    if (worker.isUsable && !this.#isClosed) {
      this.#idle.add(worker);
      worker.park(IDLE_MS, () => this.#idle.delete(worker));
    } else worker.end(serverStopping());
    this.#startNext();
  }
}

/** One process, with one input at a time. */
class ParserProcess {
  readonly #limits: ParserLimits;
  readonly #child: ChildProcess;
  #residentBytes = 0;
  #endedFor: unknown;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: ParserLimits) {
    this.#limits = limits;
    const { maxMemoryBytes } = limits;
    this.#child = startProcess({ module: 'parser-entry', beside: import.meta.url, maxMemoryBytes });
    this.#child.on('error', () => undefined); // `run` rejects by the exit of the process, or when it sends the input.
  }

  /** Whether the process runs and has enough memory left for the next input. */
  get isUsable(): boolean {
    // A process that has exited can still be `connected` until its channel is read to the end.
    const isRunning = this.#endedFor === undefined && this.#child.connected;
    return isRunning && this.#residentBytes < this.#limits.maxMemoryBytes / 2;
  }

  end(reason: unknown): void {
    this.#endedFor ??= reason;
    clearTimeout(this.#timer);
    this.#child.kill('SIGKILL');
  }

  /** Keeps the idle process for `idleMs`, without keeping the server's process alive. Calls `onEnd` when it ends. */
  park(idleMs: number, onEnd: () => void): void {
    this.#child.unref();
    this.#child.channel?.unref();
    this.#child.once('exit', onEnd);
    this.#endAfter(idleMs, serverStopping());
    this.#timer!.unref();
  }

  #endAfter(ms: number, reason: unknown): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.end(reason), ms);
  }

  async run({ parser, input, signal }: Job): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<ParserReply>();
    const onExit = (_: number | null, by: NodeJS.Signals | null) => {
      this.#endedFor ??= endedForMemory(by) ? tooLarge(this.#limits) : unavailable();
      reject(this.#endedFor);
    };
    const onAbort = () => this.end(signal.reason);
    const onMessage = (message: ParserBegin | ParserReply) => {
      if (message.hasBegun) this.#endAfter(1_000 * this.#limits.timeoutSeconds, tooSlow(this.#limits));
      else resolve(message);
    };
    const child = this.#child;
    child.removeAllListeners('exit').once('exit', onExit).on('message', onMessage);
    child.ref();
    child.channel?.ref();
    this.#endAfter(START_MS, unavailable());
    signal.addEventListener('abort', onAbort, { once: true });
    child.send({ parser, input } satisfies ParserRequest, (error) => {
      if (!error) return;
      this.end(unavailable(error));
      reject(this.#endedFor);
    });
    try {
      const { residentBytes, ...reply } = await promise;
      this.#residentBytes = residentBytes;
      if (!reply.error) return reply.output;
      throw fromPlainError(reply.error);
    } finally {
      clearTimeout(this.#timer);
      signal.removeEventListener('abort', onAbort);
      child.removeAllListeners('exit').removeAllListeners('message');
    }
  }
}

function tooMany(): LangoError {
  return new LangoError('too-many', 'Too many files wait to be read.', {
    hint: 'Wait until an earlier file is read, then try again.',
    retryable: true,
    retryAfterMs: RETRY_AFTER_MS,
  });
}

function tooSlow({ timeoutSeconds }: ParserLimits): LangoError {
  return new LangoError('timeout', `Reading the content took longer than ${timeoutSeconds} seconds.`, {
    hint: 'Divide the file, or raise parsing.timeoutSeconds.',
  });
}

function tooLarge({ maxMemoryBytes }: ParserLimits): LangoError {
  const mib = Math.round(maxMemoryBytes / BYTES_PER_MIB);
  return new LangoError('too-large', `Reading the content takes more than ${mib} MiB of memory.`, {
    hint: 'Divide the file, or raise parsing.maxMemoryBytes.',
  });
}

function unavailable(cause?: unknown): LangoError {
  return new LangoError('unavailable', 'The process that reads the content ended unexpectedly.', {
    hint: 'Try again.',
    retryable: true,
    retryAfterMs: RETRY_AFTER_MS,
    cause,
  });
}

export const PARSERS = new Contract<Parsers>('parsers');
