import { execFileSync } from 'node:child_process';
import path from 'node:path';

/** The steps that were looked at for this file of tests. */
const current = new Set<string>();

/**
 * The path of a file in dist/, which is first built anew if it is older than its sources. Tests run the sources, and
 * call this for what they start as a process: then a run of other tests builds nothing.
 */
export function built(file: string): string {
  const step = file.startsWith('cli/') ? 'program' : 'library';
  if (!current.has(step)) {
    execFileSync(process.execPath, ['scripts/build.ts', step], { stdio: ['ignore', 'ignore', 'inherit'] });
    current.add(step);
  }
  return path.resolve('dist', file);
}
