import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

/** Older ones lack what the program is built on, and crash in its native parts. */
export const OLDEST_NODE = '22.19';

/** A clone brings its own Node as a package; this file is three folders below the root of it. */
const OWN_NODE = new URL('../../../node_modules/node/bin/node', import.meta.url);

export function isSupportedNode(version: string): boolean {
  return version.localeCompare(OLDEST_NODE, 'en', { numeric: true }) >= 0;
}

/** Runs the same command line with the clone's own Node; resolves with its exit code, or undefined when there is none. */
export async function runWithOwnNode(): Promise<number | undefined> {
  const program = fileURLToPath(OWN_NODE);
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
