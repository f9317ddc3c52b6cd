#!/usr/bin/env node
import { enableCompileCache, OLDEST_NODE, isSupportedNode, runWithOwnNode } from './node-runtime.js';

// Nothing else is imported before this check: native modules crash on a Node that is too old.
if (isSupportedNode(process.versions.node)) {
  // With source maps a stack names the sources. Other starts do without: reading the maps takes time.
  if (process.argv.includes('--debug')) process.setSourceMapsEnabled(true);
  // Deprecation warnings are for the maintainers of this program, not for its users.
  else process.noDeprecation = true;
  enableCompileCache();
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
