import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export interface SecondProcess {
  /** The parsed lines of standard output so far, without a line that death cut off. */
  readonly lines: readonly unknown[];
  /** Resolves with the first line. */
  readonly first: Promise<unknown>;
  /** Sends SIGKILL, and resolves once the process is dead. */
  kill(): Promise<void>;
}

/** Lets plain Node run the sources: Node strips types by itself, and this resolves `./x.js` to `./x.ts`. */
const RESOLVE_SOURCES = `
import { registerHooks } from 'node:module';
registerHooks({ resolve(specifier, context, next) {
  const own = specifier.startsWith('.') && !context.parentURL.includes('/node_modules/');
  return next(own ? specifier.replace(/\\.js$/, '.ts') : specifier, context);
} });`;

/** Runs second-process.ts in a real process of its own. */
export function startProcess(command: 'hold' | 'work' | 'try-unprivileged', file: string): SecondProcess {
  const hook = `data:text/javascript,${encodeURIComponent(RESOLVE_SOURCES)}`;
  const script = fileURLToPath(new URL('./second-process.ts', import.meta.url));
  const child = spawn(process.execPath, ['--import', hook, script, command, file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: unknown[] = [];
  const reader = createInterface({ input: child.stdout });
  const first = Promise.race([
    once(reader, 'line').then(([line]) => JSON.parse(String(line)) as unknown),
    ended(child).then(() => Promise.reject(new Error('the second process said nothing'))),
  ]);
  first.catch(() => undefined);
  reader.on('line', (line) => {
    if (line.endsWith('}')) lines.push(JSON.parse(line));
  });
  const dead = Promise.all([ended(child), once(reader, 'close')]);
  const kill = async () => {
    child.kill('SIGKILL');
    await dead;
  };
  return { lines, first, kill };
}

async function ended(child: ChildProcess): Promise<void> {
  await once(child, 'exit');
}
