import { silentLogger } from '../../../src/core/logger.js';
import { openSqliteStorage } from '../../../src/storage/sqlite/storage.js';
import { memoryStoreSuite } from '../../suites/memory-store.js';

memoryStoreSuite('sqlite', async () =>
  openSqliteStorage({ file: ':memory:', synchronous: 'normal', logger: silentLogger }),
);
