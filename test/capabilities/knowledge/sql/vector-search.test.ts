import { describe, expect, it } from '@jest/globals';
import { toBlob, VectorSearch } from '../../../../src/capabilities/knowledge/sql/vector-search.js';
import type { Outcome, Query, SqlDatabase, Statement } from '../../../../src/core/sql.js';
import { unit } from '../../../suites/library-fixtures.js';

const COLLECTION = { id: 1, name: 'docs', model: 'm', dimension: 4, documents: 1, passages: 1, embedded: 1 };
const VECTOR = unit(1, 0, 0, 0);

/** A database with one vector, which counts how often all vectors are read, and waits for `mayRead` then. */
class Database {
  reads = 0;
  mayRead: Promise<void> = Promise.resolve();
  readonly isShared = false;
  readonly dialect = { items: () => '(?)' };

  async read<Result>(query: () => Query<Result>): Promise<Result> {
    const work = query();
    for (let step = work.next(); ;) {
      if (step.done) return step.value;
      step = work.next(await this.#answer(step.value));
    }
  }

  async #answer({ sql }: Statement): Promise<Outcome> {
    if (sql.includes('count(*)')) return { rows: [{ count: 1 }], changes: 0 };
    if (sql.includes('LIMIT')) {
      this.reads += 1;
      await this.mayRead;
    }
    return { rows: [{ passage: 7, vector: toBlob(VECTOR) }], changes: 0 };
  }
}

describe('The search of vectors', () => {
  const started = () => {
    const database = new Database();
    const search = new VectorSearch(database as unknown as SqlDatabase);
    return { database, search, find: () => search.find([COLLECTION], VECTOR, 1) };
  };

  it('reads the vectors of a collection once', async () => {
    const { database, find } = started();
    expect([...(await find()).keys()]).toEqual([7]);
    await find();
    expect(database.reads).toBe(1);
  });

  it('forgets a collection that is removed, also while it is read', async () => {
    const { database, search, find } = started();
    await find();
    search.dropped(COLLECTION.id);
    const reading = Promise.withResolvers<void>();
    database.mayRead = reading.promise;
    const finding = find();
    while (database.reads < 2) await new Promise((resolve) => setImmediate(resolve));
    search.dropped(COLLECTION.id);
    reading.resolve();
    await finding;
    await find();
    expect(database.reads).toBe(3);
  });
});
