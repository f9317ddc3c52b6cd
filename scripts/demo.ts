/**
 * `npm run demo`: one server does real work for a real A2A client over HTTP, and shows it. `npm run demo -- --nodes`:
 * the same over a stack of seven nodes, one of which goes away and comes back. Exits with 0 when it found the effects,
 * and removes its files.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runOneServer } from './demo/one-server.js';
import { runStack } from './demo/stack.js';

const say = (line: string): void => console.log(line);
const home = await mkdtemp(path.join(tmpdir(), 'lango-demo-'));
try {
  await (process.argv.includes('--nodes') ? runStack(home, say) : runOneServer(home, say));
  say('\nThe demo is done: everything it expected is there.');
} catch (error) {
  console.error(`\nThe demo failed: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
} finally {
  await rm(home, { recursive: true, force: true });
}
