import { describe, expect, it } from '@jest/globals';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '../../src/core/logger.js';
import { openSqliteStorage } from '../../src/storage/sqlite/storage.js';
import { graphStoreSuite } from '../suites/graph-store.js';
import { ALICE } from '../suites/task-store-fixtures.js';

const open = (file = ':memory:') => openSqliteStorage({ file, synchronous: 'normal', logger: silentLogger });

graphStoreSuite('sqlite', async () => open());

describe('the graph on a file', () => {
  it('is there after a restart, and names that nothing mentions any more are gone from the tables', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'lango-graph-'));
    try {
      const file = join(folder, 'lango.db');
      const first = open(file);
      const triple = {
        subject: 'xylophone',
        predicate: 'is',
        object: 'loud',
        source: 'me',
        fromOutside: false,
      };
      await first.graph.add(ALICE, [triple]);
      await first.close();
      expect((await readFile(file)).includes('xylophone')).toBe(true);
      const second = open(file);
      expect(await second.graph.find(ALICE, { subject: 'xylophone' }, 1)).toHaveLength(1);
      await second.graph.remove(ALICE, { subject: 'xylophone' });
      expect(await second.graph.find(ALICE, {}, 1)).toEqual([]);
      await second.close();
      const third = open(file);
      expect(
        await third.graph.edges(ALICE, 'xylophone', { direction: 'both', predicates: undefined, limit: 1 }),
      ).toEqual([]);
      await third.close();
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
