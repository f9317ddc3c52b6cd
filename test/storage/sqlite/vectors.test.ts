import { openSqliteStores } from '../../../lab/all-stores.js';
import { describe, expect, it } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { silentLogger } from '../../../src/core/logger.js';
import { documentOf, unit } from '../../suites/library-fixtures.js';
import { ALICE } from '../../suites/task-store-fixtures.js';

const MANY = 1_500;

describe('a removal of vectors', () => {
  it('continues when it is requested again after an interruption', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'lango-vectors-'));
    const open = () =>
      openSqliteStores({
        ...{ file: path.join(folder, 'lango.db'), synchronous: 'normal', logger: silentLogger },
      });
    const passages = Array.from({ length: MANY }, (_, n) => {
      return { text: `part ${n}`, start: n, end: n + 1, lines: undefined, heading: [] };
    });
    try {
      const before = open();
      await before.library.put(ALICE, documentOf('long', 'long', { passages }));
      const lacking = await before.library.unembedded(ALICE, 'm', MANY);
      await before.library.addVectors(ALICE, 'm', new Map(lacking.map(({ id }) => [id, unit(1, id, 0)])));
      const dropping = before.library.dropVectors(ALICE, {});
      await before.library.put(ALICE, documentOf('other', 'other'));
      await before.close();
      await expect(dropping).rejects.toMatchObject({ code: 'storage' });

      const after = open();
      const [collection] = await after.library.collections(ALICE);
      expect(collection!.embedded).toBeGreaterThan(0);
      expect(collection!.embedded).toBeLessThan(MANY);
      expect(collection).toMatchObject({ model: 'm', dimension: 3 });
      expect(await after.library.unembedded(ALICE, 'm', 2 * MANY)).toHaveLength(
        MANY + 1 - collection!.embedded,
      );
      expect(await after.library.dropVectors(ALICE, {})).toBe(collection!.embedded);
      expect((await after.library.collections(ALICE))[0]).toMatchObject({ model: '', dimension: 0 });
      await after.close();
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
