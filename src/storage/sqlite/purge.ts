import type { SqliteDatabase } from './database.js';

/** Pages of the index that one step merges. */
const PAGES = 200;
const MERGE = "INSERT INTO passage_words (passage_words, rank) VALUES ('merge', ?)";
const CHANGES = 'SELECT total_changes()';
/** What FTS5 counts when a merge found nothing to do. */
const NO_WORK = 2;

/**
 * Deleted rows are overwritten at once (`secure_delete`). What is left of them: terms in parts of the word index that
 * were not merged since, and pages in the write-ahead log.
 */
export async function purge(database: SqliteDatabase): Promise<void> {
  // The first step, with a negative number, takes all parts of the index; the others go on with that.
  for (let pages = -PAGES; await mergeSome(database, pages); pages = PAGES);
  database.read(() => database.handle.pragma('wal_checkpoint(TRUNCATE)'));
}

/** False when there was nothing to do. */
async function mergeSome(database: SqliteDatabase, pages: number): Promise<boolean> {
  const { handle } = database;
  return database.write(() => {
    const before = handle.prepare<[], number>(CHANGES).pluck().get() ?? 0;
    handle.prepare(MERGE).run(pages);
    const after = handle.prepare<[], number>(CHANGES).pluck().get() ?? 0;
    return after - before >= NO_WORK;
  });
}
