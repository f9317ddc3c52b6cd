import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/**
 * The path of a file in dist/, which is first built anew if it is older than its sources. Tests run the sources, and
 * call this for what they start as a process: then a run of other tests builds nothing. Only the first file of a run
 * compares the sources, as reading all of them takes an eighth of a second.
 */
export function built(file: string): string {
  const step = file.startsWith('cli/') ? 'program' : 'library';
  // The folder of this run: see before-tests.ts.
  const mark = path.join(process.env['LANGO_TEST_RUN']!, step);
  if (!existsSync(mark)) {
    execFileSync(process.execPath, ['scripts/build.ts', step], { stdio: ['ignore', 'ignore', 'inherit'] });
    writeFileSync(mark, '');
  }
  return path.resolve('dist', file);
}
