import { openSqliteStores } from '../../lab/all-stores.js';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '../../src/core/logger.js';
import type { OpenStore } from '../suites/task-store-fixtures.js';
import { knowledgeStoreSuite } from '../suites/knowledge-store.js';
import { libraryStoreSuite } from '../suites/library-store.js';
import { paymentStoreSuite } from '../suites/payment-store.js';
import { pushStoreSuite } from '../suites/push-store.js';
import { retentionStoreSuite } from '../suites/retention-store.js';
import { spendingStoreSuite } from '../suites/spending-store.js';
import { traceStoreSuite } from '../suites/trace-store.js';
import { taskStoreSuite } from '../suites/task-store.js';

const FIRST_MS = Date.UTC(2026, 10, 21);

function open(file: string, dispose: () => Promise<void>) {
  let clock = FIRST_MS;
  const now = () => clock;
  const advance = async (ms: number) => void (clock += ms);
  const storage = openSqliteStores({ file, synchronous: 'normal', logger: silentLogger, now });
  return { storage, store: storage.tasks, advance, dispose };
}

const openInMemory: OpenStore = async () => open(':memory:', async () => undefined);

const openOnFile: OpenStore = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'lango-store-'));
  return open(join(folder, 'lango.db'), () => rm(folder, { recursive: true }));
};

taskStoreSuite('sqlite in memory', openInMemory);
taskStoreSuite('sqlite on a file', openOnFile);
paymentStoreSuite('sqlite in memory', openInMemory);
paymentStoreSuite('sqlite on a file', openOnFile);
pushStoreSuite('sqlite in memory', openInMemory);
pushStoreSuite('sqlite on a file', openOnFile);
retentionStoreSuite('sqlite in memory', openInMemory);
retentionStoreSuite('sqlite on a file', openOnFile);
traceStoreSuite('sqlite', openInMemory);
spendingStoreSuite('sqlite', openInMemory);
knowledgeStoreSuite('sqlite', async () => open(':memory:', async () => undefined).storage);
libraryStoreSuite('sqlite', async () => open(':memory:', async () => undefined).storage);
