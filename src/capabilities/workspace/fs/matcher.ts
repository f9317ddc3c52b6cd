import { Worker } from 'node:worker_threads';
import { LangoError } from '../../../core/errors.js';
import { abortable, Deadline } from '../../../core/time.js';

interface Match {
  readonly name: boolean;
  /** Line numbers from 1, at most `LINES_MAX`. */
  readonly lines: readonly number[];
}

/** Finds a pattern in file names and texts. */
export interface Matcher extends AsyncDisposable {
  match(name: string, text: string): Promise<Match>;
}

const LINES_MAX = 1_000;
/** Time limit for one file; a reasonable expression needs milliseconds. */
const MATCH_TIME_MS = 2_000;
const WORKER_MEMORY_MB = 128;

/** A pattern is case-sensitive only when it contains upper-case letters. */
const ignoresCase = (pattern: string): boolean => pattern === pattern.toLowerCase();

export function literalMatcher(pattern: string): Matcher {
  const fold = ignoresCase(pattern) ? (text: string) => text.toLowerCase() : (text: string) => text;
  return {
    async match(name, text) {
      const folded = fold(text);
      const lines: number[] = [];
      if (folded.includes(pattern)) {
        for (const [index, line] of folded.split('\n').entries()) {
          if (line.includes(pattern)) lines.push(index + 1);
          if (lines.length === LINES_MAX) break;
        }
      }
      return { name: fold(name).includes(pattern), lines };
    },
    async [Symbol.asyncDispose]() {},
  };
}

/** The worker's code is a string because a worker file would exist only after the build. */
const WORKER_CODE = `
const { parentPort, workerData } = require('node:worker_threads');
const { pattern, flags, max } = workerData;
const expression = new RegExp(pattern, flags);
parentPort.on('message', ({ name, text }) => { const lines = [];
  for (const [index, line] of text.split('\\n').entries()) {
    if (expression.test(line)) lines.push(index + 1);
    if (lines.length === max) break;
  }
  parentPort.postMessage({ name: expression.test(name), lines });
});`;

/** Matches in a worker thread, which ends when one file takes too long. Throws `invalid-input` for an invalid expression. */
export function regexMatcher(pattern: string, signal: AbortSignal): Matcher {
  const flags = ignoresCase(pattern.replace(/\\./g, '')) ? 'iu' : 'u';
  try {
    new RegExp(pattern, flags);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.replace(/^Invalid regular expression: /, '') : '';
    throw new LangoError('invalid-input', `pattern: not a valid regular expression: ${why}.`, { cause });
  }
  const worker = new Worker(WORKER_CODE, {
    eval: true,
    env: {},
    workerData: { pattern, flags, max: LINES_MAX },
    resourceLimits: { maxOldGenerationSizeMb: WORKER_MEMORY_MB },
  });
  worker.on('error', () => undefined); // The current match reports the error.
  return {
    match: (name, text) => matchInWorker(worker, { name, text }, signal),
    [Symbol.asyncDispose]: async () => void (await worker.terminate()),
  };
}

async function matchInWorker(
  worker: Worker,
  request: { readonly name: string; readonly text: string },
  signal: AbortSignal,
): Promise<Match> {
  signal.throwIfAborted();
  const advice = 'avoid nested repetitions, or search for a literal text';
  const problem = `pattern: the regular expression takes too long on "${request.name}"; ${advice}.`;
  const late = () => new LangoError('timeout', problem);
  using deadline = new Deadline(signal).expect(MATCH_TIME_MS, late);
  const { promise, resolve, reject } = Promise.withResolvers<Match>();
  worker.once('message', resolve).once('exit', () => reject(late()));
  worker.postMessage(request);
  try {
    return await abortable(promise, deadline.signal);
  } finally {
    worker.removeAllListeners('message').removeAllListeners('exit');
  }
}
