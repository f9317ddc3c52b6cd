import { flushCompileCache } from 'node:module';
import { setFlagsFromString } from 'node:v8';
import { readEnv } from '../config/env.js';

/**
 * Starts without V8's optimizing compilers: a start runs most code once, and with them an idle server is 7 MB larger. Call
 * `optimize` once the start is over. An operator who sets options of the compilers keeps them.
 */
export function startUnoptimized(): void {
  if (isGiven()) return;
  setFlagsFromString('--no-opt');
  setFlagsFromString('--no-maglev');
}

/**
 * Lets V8 optimize code, from now on, with the last of its compilers alone: the one in between, Maglev, leaves 40 MB of
 * arenas. What V8 compiled is kept for the next start before, under the flags of a start.
 */
export function optimize(): void {
  if (isGiven()) return;
  flushCompileCache();
  setFlagsFromString('--opt');
}

function isGiven(): boolean {
  return /--(no-)?(opt|turbofan|maglev)|jitless/.test(optionsOfNode());
}

/** The options that the operator gave to Node. */
export function optionsOfNode(): string {
  return [...process.execArgv, readEnv().variables['NODE_OPTIONS']].join(' ');
}
