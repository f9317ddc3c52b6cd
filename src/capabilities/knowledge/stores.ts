import { column, run, type SqlDatabase } from '../../core/sql.js';
import { createExtractionStore } from './stores/extraction.js';
import { GraphStore } from './stores/graph.js';
import { KnowledgeStore } from './stores/knowledge.js';
import { LibraryStore } from './stores/library-store.js';

export type KnowledgeStores = ReturnType<typeof openStores>;

/** The stores of documents, entries and triples, over one database. */
export function openStores(database: SqlDatabase) {
  const graph = new GraphStore(database);
  const library = new LibraryStore(database, graph);
  return {
    graph,
    library,
    knowledge: new KnowledgeStore(database, library),
    extraction: createExtractionStore(database, graph),
  };
}

/** The number of index pages that one step merges. */
const MERGE_PAGES = 200;
const MERGE = "INSERT INTO passage_words (passage_words, rank) VALUES ('merge', ?)";
const CHANGES = 'SELECT total_changes() AS changes';
/** A merge that changes fewer rows than this had nothing left to do (https://sqlite.org/fts5.html#the_merge_command). */
const MIN_MERGE_CHANGES = 2;

/** Removes the terms of deleted passages, which SQLite keeps in unmerged parts of its index of words. PostgreSQL has none. */
export async function purgeWords(database: SqlDatabase): Promise<void> {
  if (database.dialect.name !== 'sqlite') return;
  // The first step, with a negative number, starts a merge of all parts of the index. The others continue it.
  let pages = -MERGE_PAGES;
  const mergeSome = function* () {
    const [before] = yield* column<number>(CHANGES);
    yield* run(MERGE, pages);
    const [after] = yield* column<number>(CHANGES);
    return after! - before! >= MIN_MERGE_CHANGES;
  };
  while (await database.write('words', mergeSome)) pages = MERGE_PAGES;
}
