import { openSqliteStores } from '../../../lab/all-stores.js';
import { describe, expect, it } from '@jest/globals';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '../../../src/core/logger.js';
import { documentOf } from '../../suites/library-fixtures.js';
import { ALICE } from '../../suites/task-store-fixtures.js';

describe('purge', () => {
  it('leaves no bytes of deleted text in any file: neither the text nor its words, nor in the log', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'lango-purge-'));
    const file = join(folder, 'lango.db');
    const storage = openSqliteStores({ file, synchronous: 'normal', logger: silentLogger });
    const filesWith = async (text: string): Promise<readonly string[]> => {
      const names = await readdir(folder);
      const contents = await Promise.all(names.map((name) => readFile(join(folder, name))));
      return names.filter((_, index) => contents[index]!.includes(text));
    };
    try {
      for (let n = 0; n < 300; n += 1) {
        const text = n === 150 ? 'The zither stands in the attic.' : `Plain text number ${n} of many.`;
        await storage.library.put(ALICE, documentOf(`d${n}.md`, text));
      }
      // The checkpoints of the running store write the log into the database.
      await storage.purge();
      expect(await filesWith('zither stands')).toEqual(['lango.db']);
      await storage.library.remove(ALICE, 'documents', ['file:///d150.md']);
      await storage.purge();
      expect(await filesWith('zither')).toEqual([]);
      expect(await storage.library.findText(ALICE, { text: 'plain 149', limit: 1 })).toHaveLength(1);
    } finally {
      await storage.close();
      await rm(folder, { recursive: true });
    }
  });
});
