import { execFileSync } from 'node:child_process';

/**
 * Runs before the tests, also before each run of `npm run test:watch`. The sources need what is built of them to run
 * elsewhere than in Node.
 */
export default function buildModules(): void {
  execFileSync(process.execPath, ['scripts/build.ts', 'modules'], { stdio: ['ignore', 'ignore', 'inherit'] });
}
