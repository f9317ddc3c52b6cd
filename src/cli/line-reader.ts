import { createInterface } from 'node:readline';

/** Lines that somebody types or pipes in. */
export interface LineReader {
  /** The next line; undefined when there is none any more, or when the person leaves. */
  next(prompt: string): Promise<string | undefined>;
  close(): void;
}

const HISTORY_LINES = 200;

/** A person's lines, with a history; the terminal is free for others between two of them. */
export function terminalLines(): LineReader {
  let history: string[] = [];
  return {
    async next(prompt) {
      const lines = createInterface({
        input: process.stdin,
        output: process.stderr,
        history: [...history],
        historySize: HISTORY_LINES,
      });
      lines.on('history', (newer) => {
        history = newer;
      });
      const line = await new Promise<string | undefined>((resolve) => {
        lines.once('close', () => resolve(undefined));
        lines.once('SIGINT', () => lines.close());
        lines.question(prompt, resolve);
      });
      lines.close();
      return line;
    },
    close() {},
  };
}

/** Lines from a pipe or a file. */
export function pipedLines(): LineReader {
  const lines = createInterface({ input: process.stdin, crlfDelay: Infinity });
  const iterator = lines[Symbol.asyncIterator]();
  return {
    async next() {
      const { done, value } = await iterator.next();
      return done === true ? undefined : value;
    },
    close: () => lines.close(),
  };
}
