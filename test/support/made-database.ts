import Database from 'better-sqlite3';
import { existsSync } from 'node:fs';
import { copyFile, rename } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { openSqliteStores } from '../../lab/all-stores.js';
import { silentLogger } from '../../src/core/logger.js';

/**
 * Puts the database into a new data folder that the first start of a server would make there. Its tables are made once in
 * a run of tests, as that takes more than half of the CPU of a database. Tests of storage and of commands make their own.
 */
export async function putDatabase(home: string): Promise<void> {
  // The folder of this run: see before-tests.ts.
  const made = path.join(process.env['LANGO_TEST_RUN']!, 'lango.db');
  if (!existsSync(made)) await make(made);
  await copyFile(made, path.join(home, 'lango.db'));
}

async function make(file: string): Promise<void> {
  const own = `${file}-${process.pid}`;
  await openSqliteStores({ file: own, synchronous: 'normal', logger: silentLogger }).close();
  const database = new Database(own);
  // The name of the node, and that there is a mark beside the file.
  database.exec('DELETE FROM meta');
  database.pragma('wal_checkpoint(TRUNCATE)');
  database.close();
  await rename(own, file);
}
