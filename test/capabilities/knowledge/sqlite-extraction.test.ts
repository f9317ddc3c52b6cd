import { silentLogger } from '../../../src/core/logger.js';
import { openSqliteStorage } from '../../../src/storage/sqlite/storage.js';
import { extractionStoreSuite } from '../../suites/extraction-store.js';

extractionStoreSuite('sqlite', async () =>
  openSqliteStorage({ file: ':memory:', synchronous: 'normal', logger: silentLogger }),
);
