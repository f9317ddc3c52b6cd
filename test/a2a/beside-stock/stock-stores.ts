import type { PushNotificationStore, TaskStore } from '@a2a-js/sdk/server';
import { InMemoryPushNotificationStore, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { DatabasePushNotificationStore, DatabaseTaskStore } from '@a2a-js/sdk/server/database';
import Database from 'better-sqlite3';
import { Kysely, SqliteDialect } from 'kysely';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const LATE_MS = 100;

/** The stores of a stock server: in memory, or in a database. */
export interface StockStores {
  readonly tasks: TaskStore;
  readonly pushes: PushNotificationStore;
  /** The folder of the database files; empty for stores in memory. */
  readonly folder: string;
  close(): Promise<void>;
}

export function memoryStores(): StockStores {
  return {
    tasks: new InMemoryTaskStore(),
    pushes: new InMemoryPushNotificationStore(),
    folder: '',
    close: async () => {},
  };
}

/** SQLite through Kysely, with the tables that the SDK's own command makes. */
export async function databaseStores(): Promise<StockStores> {
  const folder = await mkdtemp(path.join(tmpdir(), 'lango-stock-'));
  const file = path.join(folder, 'stock.db');
  await stockSchema('--url', `sqlite:${file}`);
  const database = new Kysely({ dialect: new SqliteDialect({ database: new Database(file) }) });
  return {
    tasks: new DatabaseTaskStore(database),
    pushes: new DatabasePushNotificationStore(database),
    folder,
    async close() {
      await database.destroy();
      await rm(folder, { recursive: true });
    },
  };
}

/** Returns what the SDK's `a2a-db upgrade` prints. */
export async function stockSchema(...options: readonly string[]): Promise<string> {
  const command = 'node_modules/@a2a-js/sdk/dist/cli/a2a_db.js';
  return (await promisify(execFile)(process.execPath, [command, 'upgrade', ...options])).stdout;
}

/** Delays the first read of a store, as on a network where the read that begins first may end last. */
export function lateAtFirst(store: PushNotificationStore): PushNotificationStore {
  let looks = 0;
  return {
    save: (...given) => store.save(...given),
    delete: (...given) => store.delete(...given),
    load: (...given) => store.load(...given),
    async loadWithMetadata(...given) {
      looks += 1;
      if (looks === 1) await sleep(LATE_MS);
      return store.loadWithMetadata!(...given);
    },
  };
}
