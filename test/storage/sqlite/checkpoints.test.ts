import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from '../../../src/core/logger.js';
import { silentLogger } from '../../../src/core/logger.js';
import type { Storage } from '../../../src/stores/storage.js';
import { openSqliteStorage } from '../../../src/storage/sqlite/storage.js';
import { until } from '../../support/until.js';
import { AGENT, fenceOf, newTask, taskOf } from '../../suites/task-store-fixtures.js';

const MB = 1024 * 1024;
const TEXT = 'x'.repeat(200 * 1024);

let folder: string;
let file: string;
/** A symbolic link to the file, through which the storage opens it. */
let link: string;
let storage: Storage;
let warnings: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lango-checkpoints-'));
  file = join(folder, 'lango.db');
  link = join(folder, 'link.db');
  warnings = [];
  const logger: Logger = { ...silentLogger, warn: (text) => void warnings.push(text) };
  writeFileSync(file, '');
  symlinkSync(file, link);
  storage = openSqliteStorage({ file: link, synchronous: 'normal', logger });
});

afterEach(async () => {
  await storage.close();
  rmSync(folder, { recursive: true });
});

function size(of = file): number {
  return statSync(of).size;
}

/** Writes so many texts of 200 KiB into one task and gives its id. */
async function write(count: number): Promise<string> {
  const task = taskOf(await storage.tasks.accept(newTask()));
  const body = { type: 'text-delta', artifactId: 'answer', text: TEXT, replace: false } as const;
  for (let n = 0; n < count; n += 1) await storage.tasks.append(fenceOf(task), [{ author: AGENT, body }]);
  return task.id;
}

describe('the write-ahead log of a database in use', () => {
  it('is checkpointed into the file while the server runs', async () => {
    const id = await write(200);
    await until(() => size() > 25 * MB);
    expect(await storage.tasks.read(id, 0, 300)).toHaveLength(201);
    expect(warnings).toEqual([]);
  });

  it('does not exceed its limit under continuous writes', async () => {
    await write(900);
    expect(size(`${file}-wal`)).toBeLessThan(165 * MB);
  });

  it('survives a failed checkpoint with a warning', async () => {
    rmSync(link);
    const id = await write(200);
    await until(() => warnings.length === 1);
    expect(warnings).toEqual(['the write-ahead log of the database could not be checkpointed']);
    expect(await storage.tasks.read(id, 0, 300)).toHaveLength(201);
  });
});
