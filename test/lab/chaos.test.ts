import { describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { built } from '../support/built.js';

interface Figures {
  readonly tasks: number;
  readonly takeover: Readonly<Record<string, { readonly count: number }>>;
  readonly refused: Readonly<Record<string, number>>;
  readonly findings: readonly string[];
}

/** Runs chaos with so many faults of each kind, and the default number of the others. */
async function chaos(
  counts: Readonly<Record<string, number>>,
  ...flags: readonly string[]
): Promise<Figures> {
  const faults = Object.entries(counts).flatMap(([fault, count]) => [`--${fault}`, String(count)]);
  const args = [built('lab/chaos/main.js'), '--json', '--seed', '1', ...faults, ...flags];
  const run = promisify(execFile)(process.execPath, args);
  const { stdout } = await run.catch((error: { readonly stdout: string }) => error);
  return JSON.parse(stdout) as Figures;
}

/** Faults over three replicas on one PostgreSQL, as `npm run chaos` injects them. */
describe('npm run chaos', () => {
  it('finds nothing lost, duplicated or repeated after faults of each kind', async () => {
    // Once each: flap, hang, slow, exhausted, full, failover. Twice: terminate.
    const { tasks, takeover, findings } = await chaos({ kill: 8, stop: 2, term: 2, cut: 1, restart: 1 });
    expect(findings).toEqual([]);
    expect(tasks).toBeGreaterThan(10);
    expect(takeover['kill']?.count).toBeGreaterThan(0);
  }, 300_000);

  const isPooler = existsSync('/usr/sbin/pgbouncer');
  if (!isPooler) console.warn('NO PgBouncer IS HERE: chaos behind session pooling is SKIPPED.');
  (isPooler ? it : it.skip)(
    'finds nothing behind a PgBouncer with session pooling either',
    async () => {
      const none = { stop: 0, term: 0, cut: 0, restart: 0, slow: 0, exhausted: 0, full: 0 };
      const { tasks, findings, refused } = await chaos({ ...none, kill: 2, terminate: 2 }, '--pooler');
      expect(findings).toEqual([]);
      expect(tasks).toBeGreaterThan(4);
      expect(refused['57P01']).toBeGreaterThan(0);
    },
    300_000,
  );
});
