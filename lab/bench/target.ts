import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { CostAnswer, HeapAnswer } from './child.js';
import { Connection } from './connection.js';

/**
 * Lango with one more agent, the same at its orchestrator, the same on PostgreSQL, Lango with the stock server's
 * executor, Lango in single-agent mode, the same with its memory on, Lango as `lango serve` starts it, the SDK, the same with its tasks in a database,
 * node:http alone.
 */
export type Kind =
  | 'lango'
  | 'lango-team'
  | 'lango-executor'
  | 'lango-postgres'
  | 'lango-flat'
  | 'lango-memory'
  | 'lango-serve'
  | 'stock'
  | 'stock-database'
  | 'bare';

export const TOKEN = 'bench-5Hs8yK3mPw7RgD2jXq9n';
/** Linux counts CPU time for /proc in hundredths of a second. */
const TICK_MS = 10;
const START_MS = 60_000;
const STOP_MS = 10_000;
const READY = /^ready http:\/\/[^:]+:(\d+)/;

/** A server in its own process. */
export class Target {
  readonly kind: Kind;
  readonly port: number;
  readonly #child: ChildProcess;

  constructor(kind: Kind, child: ChildProcess, port: number) {
    this.kind = kind;
    this.#child = child;
    this.port = port;
  }

  connect(): Promise<Connection> {
    return Connection.open(this.port);
  }

  /**
   * CPU time of the process so far, user and system, in microseconds. Not for `lango-serve`, which has no channel to
   * the bench.
   */
  async cpu(): Promise<number> {
    return (await this.#ask('cpu')).cpu;
  }

  /** CPU time as in `cpu`, with the number of statements that the process sent to its database. */
  cost(): Promise<CostAnswer> {
    return this.#ask('cost');
  }

  /**
   * Kilobytes of all objects, after a collection that also gives unused memory of V8 back to the system. Not for
   * `lango-serve`, which does so by itself.
   */
  async heapKb(): Promise<number> {
    this.#child.send('heap');
    const [answer] = (await once(this.#child, 'message')) as [HeapAnswer];
    return answer.heap / 1_000;
  }

  /** CPU time of any server, in milliseconds, in steps of 10. Rejects where the system has no /proc. */
  async systemCpuMs(): Promise<number> {
    const stat = await readFile(`/proc/${this.#child.pid}/stat`, 'utf8');
    // The fields follow the name of the program, which may contain anything and ends at the last parenthesis.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  }

  /** Resident memory in MB (10^6 bytes). Rejects where the system has no /proc. */
  residentMb(): Promise<number> {
    return this.#memoryMb('VmRSS');
  }

  /** The peak resident memory of the process, as counted by the system. */
  peakMb(): Promise<number> {
    return this.#memoryMb('VmHWM');
  }

  async #ask(what: 'cpu' | 'cost'): Promise<CostAnswer> {
    this.#child.send(what);
    const [answer] = (await once(this.#child, 'message')) as [CostAnswer];
    return answer;
  }

  async #memoryMb(name: string): Promise<number> {
    const status = await readFile(`/proc/${this.#child.pid}/status`, 'utf8');
    const [, kib] = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status) ?? [];
    return (Number(kib) * 1024) / 1e6;
  }

  /** Resolves when the process has ended, however it ended. */
  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), STOP_MS);
    await gone;
    clearTimeout(timer);
  }
}

/** The place of a server's data. */
export interface Place {
  /** The data folder of `lango-serve`. */
  readonly home: string;
  /** The database of `lango-postgres`. */
  readonly databaseUrl?: string;
}

/** Starts a server and resolves when it reports that it is ready. */
export async function startTarget(kind: Kind, { home, databaseUrl }: Place): Promise<Target> {
  const child = spawn(process.execPath, argumentsFor(kind), {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: {
      ...process.env,
      LANGO_HOME: home,
      LANGO_TOKEN: TOKEN,
      LANGO_LOG_LEVEL: 'error',
      ...databaseOf(databaseUrl),
    },
  });
  try {
    return new Target(kind, child, await readyPort(child));
  } catch (error) {
    child.kill('SIGKILL');
    throw new Error(`the server ${kind} did not start`, { cause: error });
  }
}

function databaseOf(url: string | undefined): NodeJS.ProcessEnv {
  return url === undefined ? {} : { LANGO_DATABASE_URL: url, LANGO_VAULT_PASSPHRASE: TOKEN };
}

function argumentsFor(kind: Kind): readonly string[] {
  if (kind !== 'lango-serve') return [fileURLToPath(new URL('./main.js', import.meta.url)), 'serve', kind];
  return [fileURLToPath(new URL('../../cli/main.js', import.meta.url)), 'serve', '--port', '0'];
}

async function readyPort(child: ChildProcess): Promise<number> {
  const timer = setTimeout(() => child.kill('SIGKILL'), START_MS);
  try {
    for await (const line of createInterface({ input: child.stdout! })) {
      const port = READY.exec(line)?.[1];
      if (port !== undefined) return Number(port);
    }
    throw new Error('it ended, or was stopped after its time, without saying that it is ready');
  } finally {
    clearTimeout(timer);
    child.stdout!.resume();
  }
}
