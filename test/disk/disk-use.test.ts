import { expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freeBytes, measureFolders } from '../../src/disk/disk-use.js';

const KIB = 1024;

/** The KiB that a folder is measured to hold after a command ran in it. */
async function measured(command: string): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'lango-use-'));
  try {
    expect(spawnSync('/bin/bash', ['-c', command], { cwd: folder }).status).toBe(0);
    const options = { since: Infinity, opensUnreadable: true, isEnough: () => false };
    return (await measureFolders([folder, join(folder, 'missing')], options)).bytes / KIB;
  } finally {
    await rm(folder, { recursive: true });
  }
}

it('the disk use of a folder counts every block once, in any subfolder and under any link', async () => {
  expect(await measured('head -c 100K /dev/zero > a; ln a b; mkdir c; ln a c/d')).toBeLessThan(120);
  expect(
    await measured('mkdir -p .git node_modules; head -c 100K /dev/zero | tee .git/a > node_modules/b'),
  ).toBeGreaterThanOrEqual(200);
  expect(await measured('mkdir c; head -c 100K /dev/zero > c/d; chmod 0 c')).toBeGreaterThanOrEqual(100);
  expect(await measured('for i in {1..200}; do > $i; done')).toBeGreaterThanOrEqual(800);
  expect(await measured('truncate -s 10G sparse; ln -s /usr link')).toBeLessThan(40);
  expect(await measured("mkdir -p $(printf 'd/%.0s' {1..300})")).toBe(Infinity);
  expect(await freeBytes(['/nowhere'])).toBe(0);
});
