import { describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { built } from '../support/built.js';

interface Figures {
  readonly tasks: number;
  readonly takeover: Readonly<Record<string, { readonly count: number }>>;
  readonly findings: readonly string[];
}

/** Faults over three replicas on one PostgreSQL, as `npm run chaos` injects them. */
describe('npm run chaos', () => {
  it('finds nothing lost, duplicated or repeated after faults of each kind', async () => {
    // Once each: slow, exhausted, full, failover.
    const counts = { kill: 8, stop: 2, term: 2, cut: 1, restart: 1 };
    const faults = Object.entries(counts).flatMap(([fault, count]) => [`--${fault}`, String(count)]);
    const args = [built('lab/chaos/main.js'), '--json', '--seed', '1', ...faults];
    const run = promisify(execFile)(process.execPath, args);
    const { stdout } = await run.catch((error: { readonly stdout: string }) => error);
    const { tasks, takeover, findings } = JSON.parse(stdout) as Figures;
    expect(findings).toEqual([]);
    expect(tasks).toBeGreaterThan(10);
    expect(takeover['kill']?.count).toBeGreaterThan(0);
  }, 300_000);
});
