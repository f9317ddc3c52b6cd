import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach } from '@jest/globals';
import { isLangoError } from '../../src/core/errors.js';
import type { LangoError } from '../../src/core/errors.js';

const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** A new folder that is gone after the test. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'lango-config-'));
  folders.push(folder);
  return folder;
}

export function write(folder: string, name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text, { mode: 0o600 });
  return file;
}

/** The `LangoError` that `work` throws. */
export async function errorOf(work: () => unknown): Promise<LangoError> {
  try {
    await work();
  } catch (error) {
    if (isLangoError(error)) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}
