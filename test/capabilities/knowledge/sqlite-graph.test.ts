import { openSqliteStores } from '../../../lab/all-stores.js';
import { describe, expect, it } from '@jest/globals';
import Database from 'better-sqlite3';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '../../../src/core/logger.js';
import { graphStoreSuite } from '../../suites/graph-store.js';
import { ALICE, BOB } from '../../suites/task-store-fixtures.js';

const open = (file = ':memory:') => openSqliteStores({ file, synchronous: 'normal', logger: silentLogger });

graphStoreSuite('sqlite', async () => open());

describe('the graph on a file', () => {
  it('resumes an interrupted removal, and leaves no name behind', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'lango-graph-'));
    try {
      const file = join(folder, 'lango.db');
      const first = open(file);
      const triple = (n: number) => ({
        ...{ subject: `a${n}`, predicate: 'is', object: `o${n}`, contextId: 'c' },
        ...{ source: `note ${n % 3}`, fromOutside: false },
      });
      const many = Array.from({ length: 3_000 }, (_, n) => triple(n));
      await first.graph.add(ALICE, many);
      const removing = first.graph.remove(ALICE, {});
      await first.graph.add(BOB, [triple(1)]);
      await first.close();
      await expect(removing).rejects.toMatchObject({ code: 'storage' });
      const second = open(file);
      const left = (await second.graph.find(ALICE, {}, 5_000)).length;
      expect(left).toBeGreaterThan(0);
      expect(left).toBeLessThan(3_000);
      expect(await second.graph.remove(ALICE, {})).toBe(left);
      await second.close();
      const database = new Database(file, { readonly: true });
      const names = database.prepare('SELECT owner, name FROM graph_names ORDER BY name').all();
      database.close();
      expect(names).toEqual(
        ['a1', 'context c', 'is', 'note 1', 'o1'].map((name) => ({ owner: BOB.owner, name })),
      );
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('survives a restart, and unused names are removed from its tables', async () => {
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
