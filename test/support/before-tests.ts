import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const IN_MEMORY = '/dev/shm';
/** Far more than the servers of all tests write: in containers this file system is often small. */
const ROOM_BYTES = 2 * 1024 ** 3;

/** Runs before the tests, also before each run of `npm run test:watch`. */
export default function beforeTests(): void {
  // The sources need what is built of them to run elsewhere than in Node.
  execFileSync(process.execPath, ['scripts/build.ts', 'modules'], { stdio: ['ignore', 'ignore', 'inherit'] });
  const folder = folderUntilExit(tmpdir());
  process.env['LANGO_TEST_RUN'] = folder;
  // Node compiles the modules of the processes that tests start once.
  process.env['NODE_COMPILE_CACHE'] ??= join(folder, 'compiled');
  keepHomesInMemory();
}

function folderUntilExit(place: string): string {
  const folder = mkdtempSync(join(place, 'lango-tests-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Flushes and removals of files take a fifth of the CPU of a server with a new database when they reach a disk. */
function keepHomesInMemory(): void {
  try {
    const { bavail, bsize } = statfsSync(IN_MEMORY);
    if (bavail * bsize < ROOM_BYTES) return;
    process.env['LANGO_TEST_HOMES'] = folderUntilExit(IN_MEMORY);
  } catch {
    // Some systems have no such folder, or one that this user cannot write: the homes are on the disk then.
  }
}
