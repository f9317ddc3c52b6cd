import nodeModule from 'node:module';
import { spawn } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { readEnv } from '../config/env.js';
import { packageRoot } from '../config/package-root.js';
import { isAtLeast } from '../core/text.js';

/** Older ones lack what the program is built on, and crash in its native parts. */
export const OLDEST_NODE = '22.19';

export function isSupportedNode(version: string): boolean {
  return isAtLeast(version, OLDEST_NODE);
}

/** Runs the same command line with the Node that a clone brings as a package; resolves with its exit code, or undefined when there is none. */
export async function runWithOwnNode(): Promise<number | undefined> {
  const program = join(packageRoot(), 'node_modules/node/bin/node');
  if (!existsSync(program)) return undefined;
  const child = spawn(program, process.argv.slice(1), { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    // A terminal sends its signals to both of us.
    process.on(signal, () => void (process.stdin.isTTY && signal === 'SIGINT' ? false : child.kill(signal)));
  }
  return new Promise((resolve) => {
    child.once('error', () => resolve(undefined));
    child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal ?? 'SIGKILL']));
  });
}

/**
 * Keeps what V8 makes of the program for the next start: beside the program, or in the data folder where the program
 * belongs to somebody else (an image, a global installation). What is kept is code that we will run, so it is only
 * kept where nobody but us may write; without such a place nothing is. NODE_DISABLE_COMPILE_CACHE=1 turns it off.
 */
export function keepCompiledCode(): void {
  const place = [join(packageRoot(), 'dist/cli'), readEnv().home].find(isOursAlone);
  if (place !== undefined) nodeModule.enableCompileCache(join(place, 'compiled'));
}

function isOursAlone(folder: string): boolean {
  const { uid, mode } = statSync(folder, { throwIfNoEntry: false }) ?? {};
  return mode !== undefined && uid === process.getuid?.() && (mode & 0o022) === 0;
}
