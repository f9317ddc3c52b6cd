import { Worker } from 'node:worker_threads';
import { LangoError } from '../../core/errors.js';

interface Match {
  readonly name: boolean;
  /** Line numbers from 1, the first `LINES_MAX`. */
  readonly lines: readonly number[];
}

/** Finds a pattern in names and texts. */
export interface Matcher {
  match(name: string, text: string): Promise<Match>;
  close(): Promise<void>;
}

const LINES_MAX = 1_000;
/** For one file; a sensible expression needs milliseconds. */
const MATCH_TIME_MS = 2_000;
const WORKER_MEMORY_MB = 128;

/** Upper and lower case are told apart only when the pattern has upper case. */
function ignoresCase(pattern: string): boolean {
  return pattern === pattern.toLowerCase();
}

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
    async close() {},
  };
}

/** Text, because a worker needs a file of its own otherwise, which is not there before the build. */
const WORKER_CODE = `
const { parentPort, workerData } = require('node:worker_threads');
const expression = new RegExp(workerData.pattern, workerData.flags);
parentPort.on('message', ({ name, text, max }) => {
  const lines = [];
  for (const [index, line] of text.split('\\n').entries()) {
    if (expression.test(line)) lines.push(index + 1);
    if (lines.length === max) break;
  }
  parentPort.postMessage({ name: expression.test(name), lines });
});`;

/**
 * JavaScript's expressions can take longer than the universe has time, so they run in a thread that is
 * ended when one file takes too long. Throws `invalid-input` for one that is not valid.
 */
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
    workerData: { pattern, flags },
    resourceLimits: { maxOldGenerationSizeMb: WORKER_MEMORY_MB },
  });
  worker.on('error', () => undefined); // Seen by the match that is under way.
  return {
    match: (name, text) => askWorker(worker, { name, text, max: LINES_MAX }, signal),
    close: async () => void (await worker.terminate()),
  };
}

interface Question {
  readonly name: string;
  readonly text: string;
  readonly max: number;
}

function askWorker(worker: Worker, question: Question, signal: AbortSignal): Promise<Match> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted(); // It is told of no more then.
    const settle = (finish: () => void) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      worker.removeAllListeners('message').removeAllListeners('exit');
      finish();
    };
    const give = () => settle(() => reject(tooSlow(question.name)));
    const onAbort = () => settle(() => reject(signal.reason as Error));
    const timer = setTimeout(give, MATCH_TIME_MS);
    signal.addEventListener('abort', onAbort, { once: true });
    worker.once('message', (match: Match) => settle(() => resolve(match)));
    worker.once('exit', give);
    worker.postMessage(question);
  });
}

function tooSlow(name: string): LangoError {
  const advice = 'avoid repetitions inside repetitions, or search for a literal text';
  return new LangoError('timeout', `pattern: the regular expression takes too long on "${name}"; ${advice}.`);
}
