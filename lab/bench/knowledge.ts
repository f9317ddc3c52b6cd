import { openSqliteStores } from '../all-stores.js';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { silentLogger } from '../../src/core/logger.js';
import type { Figure } from './figures.js';
import { graphWalk } from './graph-walk.js';
import type { Scenario } from './scenario.js';
import { textSearch } from './text-search.js';
import { vectorSearch } from './vector-search.js';

const PARTS = [textSearch, vectorSearch, graphWalk];

/** Measures storing and finding knowledge, in one database in this process, opened as a server does. */
export const knowledge: Scenario = async ({ sizes }) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'lango-bench-knowledge-'));
  const file = path.join(folder, 'lango.db');
  const storage = openSqliteStores({ file, synchronous: 'normal', logger: silentLogger });
  try {
    const figures: Figure[] = [];
    for (const part of PARTS) figures.push(...(await part(storage, sizes)));
    return figures;
  } finally {
    await storage.close();
    await rm(folder, { recursive: true, force: true });
  }
};
