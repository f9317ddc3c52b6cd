#!/usr/bin/env node
import { keepCompiledCode, OLDEST_NODE, isSupportedNode, runWithOwnNode } from './node-runtime.js';

// Nothing more may be loaded before the version is known: native parts crash on a Node that is too old.
if (isSupportedNode(process.versions.node)) {
  // The stack of an error then names the sources; reading the maps would cost every other start.
  if (process.argv.includes('--debug')) process.setSourceMapsEnabled(true);
  // News for who maintains this program, not for who runs it.
  else process.noDeprecation = true;
  keepCompiledCode();
  const { run } = await import('./run.js');
  process.exit(await run(process.argv.slice(2)));
}
const exitCode = await runWithOwnNode();
if (exitCode === undefined) {
  process.stderr.write(
    `Lango needs Node ${OLDEST_NODE} or newer; this is ${process.versions.node}. Install a newer one from https://nodejs.org, or run "npm ci" in a clone.\n`,
  );
}
process.exit(exitCode ?? 1);
