import { openSqliteStores } from '../../../lab/all-stores.js';
import { silentLogger } from '../../../src/core/logger.js';
import { extractionStoreSuite } from '../../suites/extraction-store.js';

extractionStoreSuite('sqlite', async () =>
  openSqliteStores({ file: ':memory:', synchronous: 'normal', logger: silentLogger }),
);
