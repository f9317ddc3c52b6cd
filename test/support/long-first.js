import TestSequencer from '@jest/test-sequencer';
import { existsSync } from 'node:fs';

/**
 * The files of `npm test` that take longest, and those that wait among them: one that begins last would keep the other
 * processes waiting. Jest knows how long a file takes only where it ran before, and goes by sizes elsewhere.
 */
const LONG = [
  'capabilities/mcp/mcp',
  'capabilities/foreign',
  'e2e/hostile-peers',
  'e2e/kept-elsewhere-faults',
  'cli/drain',
  'capabilities/browser/border',
  'e2e/grpc-limits',
  'capabilities/browser/working',
  'cli/serve',
  'cli/client',
  'cli/secrets',
  'cli/data',
  'e2e/kill',
  'a2a/server/mcp',
  'capabilities/mcp/login',
  'cli/delegation-output',
  'e2e/retention',
  'e2e/upgrade',
  'cli/wait-for-lock',
  'storage/sqlite',
  'examples/examples',
  'cli/terminal',
  'capabilities/payments/failures',
  'e2e/owners-apart',
  'quirks/ai-sdk-vendors',
  'capabilities/browser/a2a',
  'requirements/a2a',
  'storage/postgres',
  'capabilities/workspace/exec/exec',
  'telemetry/export',
  'e2e/credentials',
  'quirks/context-window',
  'quirks/written-arguments',
  'cli/backup',
  'cli/files',
  'quirks/refusals',
].map((name) => `test/${name}.test.ts`);

const missing = LONG.filter((file) => !existsSync(file));
if (missing.length > 0)
  throw new Error(`${missing.join()} does not exist: correct test/support/long-first.js.`);

/** Begins with the files that take longest. */
export default class LongFirst extends TestSequencer {
  sort(tests) {
    const place = ({ path }) => LONG.findIndex((file) => path.endsWith(`/${file}`)) + 1 || Infinity;
    return super.sort(tests).toSorted((a, b) => place(a) - place(b) || 0);
  }
}
