#!/usr/bin/env node
import nodeModule from 'node:module';
import type { ResolveFnOutput, ResolveHookSync } from 'node:module';
import { spawn } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { readEnv } from '../config/env.js';
import { packageRoot } from '../config/package-root.js';
import { oldNodeText } from '../config/supported-node.js';
import { startUnoptimized } from './optimizing.js';

const OWN_FOLDER = new URL('.', import.meta.url).href;

// Nothing else is imported before this check: native modules crash on a Node that is too old.
const problem = oldNodeText();
if (problem === undefined) {
  // With source maps a stack names the sources. Other starts do without: reading the maps takes time.
  if (process.argv.includes('--debug')) process.setSourceMapsEnabled(true);
  // Deprecation warnings are for the maintainers of this program, not for its users.
  else process.noDeprecation = true;
  // V8 takes what it compiled before only with the same flags, which also name the folder of it.
  if (process.argv[2] === 'serve') startUnoptimized();
  enableCompileCache();
  nodeModule.registerHooks({ resolve: resolveOwnFile });
  const { run } = await import('./run.js');
  process.exit(await run(process.argv.slice(2)));
}
const exitCode = await runWithOwnNode();
if (exitCode === undefined) process.stderr.write(`${problem}, or run "npm ci" in a clone.\n`);
process.exit(exitCode ?? 1);

/** Runs the same command line with the Node that a clone has as a package. Resolves with undefined when there is none. */
async function runWithOwnNode(): Promise<number | undefined> {
  const program = join(packageRoot(), 'node_modules/node/bin/node');
  if (!existsSync(program)) return undefined;
  const child = spawn(program, process.argv.slice(1), { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    // A terminal sends SIGINT to the child as well.
    process.on(signal, () => void (process.stdin.isTTY && signal === 'SIGINT' ? false : child.kill(signal)));
  }
  return new Promise((resolve) => {
    child.once('error', () => resolve(undefined));
    child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal ?? 'SIGKILL']));
  });
}

/**
 * Resolves an import among the files of the program, which name each other a thousand times at a start. Node looks for
 * the real path of each: a tenth of the CPU time of a start.
 */
function resolveOwnFile(...[specifier, context, next]: Parameters<ResolveHookSync>): ResolveFnOutput {
  const from = context.parentURL ?? '';
  if (!specifier.startsWith('./') || !from.startsWith(OWN_FOLDER)) return next(specifier, context);
  const url = from.slice(0, from.lastIndexOf('/')) + specifier.slice(1);
  return { url, format: 'module', shortCircuit: true };
}

/**
 * Keeps the code that V8 compiles for the next start: beside the program, or in the data folder when the program belongs
 * to another user (an image, a global installation). The next start runs this code, so it is kept only in a folder where
 * this user alone can write, and nowhere otherwise. NODE_DISABLE_COMPILE_CACHE=1 switches the cache off.
 */
function enableCompileCache(): void {
  const folder = [join(packageRoot(), 'dist/cli'), readEnv().home].find(isPrivate);
  if (folder !== undefined) nodeModule.enableCompileCache(join(folder, 'compiled'));
}

function isPrivate(folder: string): boolean {
  const { uid, mode } = statSync(folder, { throwIfNoEntry: false }) ?? {};
  return mode !== undefined && uid === process.getuid?.() && (mode & 0o022) === 0;
}
