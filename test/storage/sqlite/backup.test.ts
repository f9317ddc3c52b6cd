import { afterEach, beforeEach, expect, it } from '@jest/globals';
import Database from 'better-sqlite3';
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { silentLogger } from '../../../src/core/logger.js';
import { backUp, restore } from '../../../src/storage/sqlite/backup.js';
import { openSqliteStorage } from '../../../src/storage/sqlite/storage.js';
import { verifyDatabase } from '../../../src/storage/sqlite/verify.js';
import { acceptOne, fenceOf, readAll, turnEnd } from '../../suites/task-store-fixtures.js';

let folder: string;
let file: string;
let copy: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'lango-backup-'));
  file = path.join(folder, 'lango.db');
  copy = path.join(folder, 'copy.db');
});

afterEach(() => rmSync(folder, { recursive: true }));

const open = () => openSqliteStorage({ file, synchronous: 'normal', logger: silentLogger });

it('backUp copies a database in use, and restore brings it back', async () => {
  const storage = open();
  const first = await acceptOne(storage.tasks, { lease: 'w' });
  await storage.tasks.append(fenceOf(first), [turnEnd('kept')]);
  const copying = backUp(file, copy);
  await acceptOne(storage.tasks);
  expect(await copying).toMatchObject({ problems: [] });
  expect(statSync(copy).mode & 0o777).toBe(0o600);
  expect(existsSync(`${copy}-wal`)).toBe(false);
  await expect(backUp(file, copy)).rejects.toMatchObject({ code: 'storage' });
  expect(() => restore(copy, file)).toThrow('Another process uses this database.');
  await storage.close();

  const { kept } = restore(copy, file);
  expect(existsSync(kept!)).toBe(true);
  const again = open();
  expect(await readAll(again.tasks, first)).toHaveLength(2);
  await again.close();
});

it('verifyDatabase finds damage anywhere in a database, and no damaged one is copied or restored', async () => {
  const storage = open();
  const first = await acceptOne(storage.tasks, { lease: 'w' });
  await storage.tasks.append(fenceOf(first), [turnEnd('a')]);
  await storage.tasks.append(fenceOf(first), [turnEnd('b'), turnEnd('c')]);
  await storage.close();
  expect(verifyDatabase(file)).toEqual({ tasks: 1, events: 4, problems: [] });
  const database = new Database(file);
  database.exec(
    "UPDATE events SET body = replace(body, 'b', 'x') WHERE seq = 4; DELETE FROM events WHERE seq = 2",
  );
  database.exec("UPDATE meta SET value = 2 WHERE key = 'commits'");
  database.close();
  expect(verifyDatabase(file).problems).toEqual([
    'The last 1 acknowledged commits are missing.',
    `Task ${first.id} has 3 of 4 entries.`,
    `Entries 3 to 4 of task ${first.id} are damaged.`,
  ]);
  await expect(backUp(file, copy)).rejects.toMatchObject({ code: 'storage' });
  expect(existsSync(copy)).toBe(false);
  expect(() => restore(file, path.join(folder, 'other.db'))).toThrow('is damaged');
});
