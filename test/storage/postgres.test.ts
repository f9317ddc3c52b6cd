import { afterAll, describe } from '@jest/globals';
import { silentLogger } from '../../src/core/logger.js';
import { openPostgresStorage } from '../../src/storage/postgres/storage.js';
import { extractionStoreSuite } from '../suites/extraction-store.js';
import { graphStoreSuite } from '../suites/graph-store.js';
import { knowledgeStoreSuite } from '../suites/knowledge-store.js';
import { libraryStoreSuite } from '../suites/library-store.js';
import { memoryStoreSuite } from '../suites/memory-store.js';
import { paymentStoreSuite } from '../suites/payment-store.js';
import { pushStoreSuite } from '../suites/push-store.js';
import { retentionStoreSuite } from '../suites/retention-store.js';
import type { OpenStore } from '../suites/task-store-fixtures.js';
import { ALICE } from '../suites/task-store-fixtures.js';
import { taskStoreSuite } from '../suites/task-store.js';
import { vaultStoreSuite } from '../suites/vault-store.js';
import { startPostgres } from '../support/postgres.js';

const server = await startPostgres();

const OPTIONS = { connections: 8, statementSeconds: 30, pooling: 'session', logger: silentLogger } as const;

const database = await server?.database();
const FIRST_MS = Date.now();
/** The clock of the store stands, but for what a case adds. */
const setClock = (later: number) =>
  database!.run(
    `CREATE OR REPLACE FUNCTION lango_now() RETURNS BIGINT LANGUAGE sql VOLATILE AS 'SELECT ${FIRST_MS + later}::bigint'`,
  );

/** Emptied between the cases: to make a database takes longer than a case. */
const empty = () =>
  database!.run(`DO $$ DECLARE name TEXT; BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'meta' LOOP
      EXECUTE 'DELETE FROM ' || name;
    END LOOP;
  END $$`);

const open: OpenStore = async () => {
  const storage = await openPostgresStorage({ ...OPTIONS, url: database!.url });
  let later = 0;
  await setClock(later);
  const advance = async (ms: number) => {
    later += ms;
    await setClock(later);
  };
  return { storage, store: storage.tasks, advance, dispose: async () => void (await empty()) };
};

const openOne = async () => {
  const { storage, dispose } = await open();
  // Opens the connections of the first use.
  await Promise.all([storage.memory.reflections(ALICE, 1), storage.memory.reflections(ALICE, 1)]);
  return { ...storage, close: () => storage.close().then(dispose) };
};

(server ? describe : describe.skip)('PostgreSQL', () => {
  afterAll(async () => {
    await database?.drop();
    await server?.stop();
  });
  taskStoreSuite('postgres', open);
  paymentStoreSuite('postgres', open);
  pushStoreSuite('postgres', open);
  retentionStoreSuite('postgres', open);
  knowledgeStoreSuite('postgres', openOne);
  libraryStoreSuite('postgres', openOne);
  graphStoreSuite('postgres', openOne);
  extractionStoreSuite('postgres', openOne);
  memoryStoreSuite('postgres', openOne);
  vaultStoreSuite('postgres', openOne);
});
