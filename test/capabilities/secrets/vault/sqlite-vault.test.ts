import { silentLogger } from '../../../../src/core/logger.js';
import { openSqliteStorage } from '../../../../src/storage/sqlite/storage.js';
import { vaultStoreSuite } from '../../../suites/vault-store.js';

vaultStoreSuite('sqlite', () =>
  openSqliteStorage({ file: ':memory:', synchronous: 'normal', logger: silentLogger }),
);
