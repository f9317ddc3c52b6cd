import { fork, type ChildProcess } from 'node:child_process';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { errorText, isLangoError, LangoError, type ErrorCode } from '../core/errors.js';

/** Node runs TypeScript sources, but does not resolve an import of "x.js" to "x.ts". */
const FIND_SOURCES = `data:text/javascript,${encodeURIComponent(`
import { registerHooks } from 'node:module';
registerHooks({
  resolve: (name, context, next) => next(/^[.].*[.]js$/.test(name) && context.parentURL.endsWith('.ts') ? name.replace(/js$/, 'ts') : name, context),
});`)}`;

export interface SeparateProcessOptions {
  /** The name of the module that the process runs, without suffix. */
  readonly module: string;
  /** The URL of a module in the same folder, which also gives the suffix: tests run the sources. */
  readonly beside: string;
  /** Maximum resident memory in bytes. The module must call `guardProcess`, which enforces it. */
  readonly maxMemoryBytes: number;
  readonly env?: Readonly<Record<string, string>>;
}

const BYTES_PER_MIB = 1024 * 1024;
/** The share of the memory for V8's heap. The rest is for buffers, which V8's limit does not count, and for Node itself. */
const HEAP_SHARE = 1 / 2;

/** Starts a process for work that may take too much time or memory. It inherits nothing of the server's environment. */
export function startProcess(options: SeparateProcessOptions): ChildProcess {
  const { module, beside, maxMemoryBytes, env = {} } = options;
  const suffix = extname(beside);
  const heapMib = Math.round((maxMemoryBytes * HEAP_SHARE) / BYTES_PER_MIB);
  return fork(fileURLToPath(new URL(`./${module}${suffix}`, beside)), [String(maxMemoryBytes)], {
    execArgv: [...(suffix === '.ts' ? ['--import', FIND_SOURCES] : []), `--max-old-space-size=${heapMib}`],
    env,
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
}

/** The signal with which the guard ends a process that takes too much memory, so that the server knows the reason. */
const MEMORY_SIGNAL = 'SIGUSR2';
const GUARD_INTERVAL_MS = 20;

/** Ends a process that takes too much memory (V8 does not limit buffers) or outlives its server, also while it is blocked. */
const GUARD = `
const { workerData } = require('node:worker_threads');
const parent = process.ppid;
setInterval(() => {
  if (process.memoryUsage.rss() > workerData.maxBytes) process.kill(process.pid, '${MEMORY_SIGNAL}');
  if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL');
}, ${GUARD_INTERVAL_MS});`;

/** Terminals and service managers send these to all processes of the server. The server may let the work finish first. */
const IGNORED_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Limits the memory of this process and leaves its end to the server. The module of a separate process calls it once. */
export function guardProcess(): void {
  for (const signal of IGNORED_SIGNALS) process.on(signal, () => undefined);
  const maxBytes = Number(process.argv[2]);
  new Worker(GUARD, { eval: true, workerData: { maxBytes }, stdout: true, stderr: true }).unref();
}

/** Whether a process ended because of its memory. V8 ends a process that reaches its heap limit with SIGABRT. */
export function endedForMemory(signal: NodeJS.Signals | null): boolean {
  return signal === MEMORY_SIGNAL || signal === 'SIGABRT';
}

/** A `LangoError` as plain data, for a message between processes. */
export type PlainError = Readonly<{ code: ErrorCode; message: string; hint?: string }>;

/** Maximum length of the message of any other error than a `LangoError`. It may quote text from outside. */
const MESSAGE_MAX_LENGTH = 2_000;

/** Returns the error as plain data. Any other error than a `LangoError` gets `defaultCode`. */
export function toPlainError(error: unknown, defaultCode: ErrorCode): PlainError {
  if (!isLangoError(error))
    return { code: defaultCode, message: errorText(error).slice(0, MESSAGE_MAX_LENGTH) };
  const { code, message, hint } = error;
  return { code, message, ...(hint === undefined ? {} : { hint }) };
}

export function fromPlainError({ code, message, hint }: PlainError): LangoError {
  return new LangoError(code, message, hint === undefined ? {} : { hint });
}
