import { openSqliteStores } from '../../../lab/all-stores.js';
import { silentLogger } from '../../../src/core/logger.js';
import { memoryStoreSuite } from '../../suites/memory-store.js';

memoryStoreSuite('sqlite', async () =>
  openSqliteStores({ file: ':memory:', synchronous: 'normal', logger: silentLogger }),
);
