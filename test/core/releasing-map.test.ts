import { beforeAll, describe, expect, it } from '@jest/globals';
import { build } from 'esbuild';
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ReleasingMap } from '../../src/core/releasing-map.js';

/** Bytes in old space. */
let kept: Readonly<Record<'alarms' | 'releasing' | 'map', number>>;
beforeAll(async () => {
  const entryPoints = [fileURLToPath(new URL('./churn.ts', import.meta.url))];
  const { outputFiles } = await build({
    entryPoints,
    bundle: true,
    format: 'esm',
    platform: 'node',
    write: false,
  });
  const args = ['--input-type=module', '-e', outputFiles[0]!.text];
  kept = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as typeof kept;
});

it('an AlarmClock releases what a cancelled call refers to', () => {
  expect(kept.alarms).toBeLessThan(kept.map / 4);
});

describe('ReleasingMap', () => {
  it('releases deleted values, which a Map keeps in its old table', () => {
    expect(kept.releasing).toBeLessThan(kept.map / 4);
  });

  it('keeps keys in the order in which they were last set, and allows deletion during iteration', () => {
    const map = new ReleasingMap<string, number>();
    for (const [index, key] of ['a', 'b', 'c', 'a'].entries()) map.set(key, index);
    expect([...map]).toEqual([
      ['b', 1],
      ['c', 2],
      ['a', 3],
    ]);
    for (const [key] of map) map.delete(key);
    expect([...map]).toEqual([]);
    expect(map.get('a')).toBeUndefined();
  });
});
