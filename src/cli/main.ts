#!/usr/bin/env node
import { oldNodeText } from '../config/supported-node.js';
import { enableCompileCache, runWithOwnNode } from './node-runtime.js';

// Nothing else is imported before this check: native modules crash on a Node that is too old.
const problem = oldNodeText();
if (problem === undefined) {
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
  process.stderr.write(`${problem}, or run "npm ci" in a clone.\n`);
}
process.exit(exitCode ?? 1);
