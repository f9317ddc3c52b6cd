import { CAPABILITIES } from '../src/capabilities/index.js';
import { openStores, purgeWords, type KnowledgeStores } from '../src/capabilities/knowledge/stores.js';
import { MemoryStore } from '../src/capabilities/memory/memory-store.js';
import { PaymentStore } from '../src/capabilities/payments/payment-store.js';
import { VaultStore } from '../src/capabilities/secrets/vault/vault-store.js';
import type { CapabilityTables } from '../src/storage/capability-tables.js';
import { openPostgresStorage } from '../src/storage/postgres/storage.js';
import { openSqliteStorage } from '../src/storage/sqlite/storage.js';
import type { Storage } from '../src/stores/storage.js';

/** A database with the stores of the server and those of the shipped capabilities. */
export interface AllStores extends Storage, KnowledgeStores {
  readonly memory: MemoryStore;
  readonly payments: PaymentStore;
  readonly vault: VaultStore;
  /** Removes the remains of deleted data, as `lango data delete` does. */
  purge(): Promise<void>;
}

const ALL_TABLES: readonly CapabilityTables[] = CAPABILITIES.flatMap(({ name, tables }) =>
  tables ? [{ ...tables, name, isForeign: false }] : [],
);

export function openSqliteStores(options: Parameters<typeof openSqliteStorage>[0]): AllStores {
  return withStores(openSqliteStorage({ ...options, tables: ALL_TABLES }));
}

export async function openPostgresStores(
  options: Omit<Parameters<typeof openPostgresStorage>[0], 'tables'>,
): Promise<AllStores> {
  return withStores(await openPostgresStorage({ ...options, tables: ALL_TABLES }));
}

function withStores(storage: Storage): AllStores {
  const { database } = storage;
  return {
    ...storage,
    ...openStores(database),
    memory: new MemoryStore(database),
    payments: new PaymentStore(database),
    vault: new VaultStore(database),
    async purge() {
      await purgeWords(database);
      await database.purge();
    },
  };
}
