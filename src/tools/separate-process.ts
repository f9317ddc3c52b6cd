import { fork, type ChildProcess } from 'node:child_process';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { errorText, isLangoError, LangoError, type ErrorCode } from '../core/errors.js';

/** Processes of our own beside the server, for what may take too much time or memory. They exchange plain data. */

/** Node runs a source as it is, but does not find "x.ts" for an import of "x.js". */
const FIND_SOURCES = `data:text/javascript,${encodeURIComponent(`
import { registerHooks } from 'node:module';
registerHooks({
  resolve: (name, context, next) => next(/^[.].*[.]js$/.test(name) && context.parentURL.endsWith('.ts') ? name.replace(/js$/, 'ts') : name, context),
});`)}`;

export interface SeparateProcess {
  /** The name of the module that the process runs, without suffix. */
  readonly module: string;
  /** The URL of a module in the same folder. Its suffix counts, as tests run the sources. */
  readonly beside: string;
  /** The largest resident memory, in bytes. The module calls `guardProcess` to keep it. */
  readonly maxMemoryBytes: number;
  readonly env?: Readonly<Record<string, string>>;
}

const BYTES_PER_MIB = 1024 * 1024;
/** The rest of the memory is for buffers, which V8's limit does not count, and for Node itself. */
const HEAP_SHARE = 1 / 2;

/** Starts a process that inherits nothing of the server's environment. */
export function startProcess({ module, beside, maxMemoryBytes, env = {} }: SeparateProcess): ChildProcess {
  const suffix = extname(beside);
  const heapMib = Math.round((maxMemoryBytes * HEAP_SHARE) / BYTES_PER_MIB);
  return fork(fileURLToPath(new URL(`./${module}${suffix}`, beside)), [String(maxMemoryBytes)], {
    execArgv: [...(suffix === '.ts' ? ['--import', FIND_SOURCES] : []), `--max-old-space-size=${heapMib}`],
    env,
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
}

/** The guard ends a process that takes too much memory with this signal, which the server tells from other ends. */
const MEMORY_SIGNAL = 'SIGUSR2';
const GUARD_INTERVAL_MS = 20;

/**
 * Runs beside the work, which may hold its thread: ends the process when it is too large (V8's own limit counts no
 * buffers), or when its server is gone.
 */
const GUARD = `
const { workerData } = require('node:worker_threads');
const parent = process.ppid;
setInterval(() => {
  if (process.memoryUsage.rss() > workerData.maxBytes) process.kill(process.pid, '${MEMORY_SIGNAL}');
  if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL');
}, ${GUARD_INTERVAL_MS});`;

/** A terminal and a service manager send these to all processes of the server, which may let its work come to a result. */
const LEFT_TO_SERVER = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** To be called by the module of a separate process, once. The server alone then ends the process. */
export function guardProcess(): void {
  for (const signal of LEFT_TO_SERVER) process.on(signal, () => undefined);
  const maxBytes = Number(process.argv[2]);
  new Worker(GUARD, { eval: true, workerData: { maxBytes }, stdout: true, stderr: true }).unref();
}

/** Whether the process ended for its memory. V8 ends one that reaches the limit of its heap with SIGABRT. */
export function endedForMemory(signal: NodeJS.Signals | null): boolean {
  return signal === MEMORY_SIGNAL || signal === 'SIGABRT';
}

export interface PlainError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint?: string;
}

/** The longest message of an error that is none of ours; it may quote what comes from outside. */
const MAX_MESSAGE = 2_000;

/** Returns the error as plain data. An error that is none of ours gets the code `otherwise`. */
export function toPlainError(error: unknown, otherwise: ErrorCode): PlainError {
  if (!isLangoError(error)) return { code: otherwise, message: errorText(error).slice(0, MAX_MESSAGE) };
  const { code, message, hint } = error;
  return { code, message, ...(hint === undefined ? {} : { hint }) };
}

export function fromPlainError({ code, message, hint }: PlainError): LangoError {
  return new LangoError(code, message, hint === undefined ? {} : { hint });
}
