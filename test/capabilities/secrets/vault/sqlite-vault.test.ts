import { openSqliteStores } from '../../../../lab/all-stores.js';
import { silentLogger } from '../../../../src/core/logger.js';
import { vaultStoreSuite } from '../../../suites/vault-store.js';

vaultStoreSuite('sqlite', () =>
  openSqliteStores({ file: ':memory:', synchronous: 'normal', logger: silentLogger }),
);
