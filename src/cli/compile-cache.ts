import { statSync } from 'node:fs';
import nodeModule from 'node:module';
import { join } from 'node:path';
import { readEnv } from '../config/env.js';
import { packageRoot } from '../config/package-root.js';

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
