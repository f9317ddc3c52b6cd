import type { ExtractionStore, UnreadDocument, Triple } from '../stores/graph.js';
import type { CollectionFilter } from '../stores/library.js';
import type { Row } from '../../../stores/records.js';
import { toRecord } from '../../../stores/records.js';
import type { DocumentVersion } from './library-rows.js';
import { DOCUMENT_FORMAT, sourceOf } from './library-rows.js';
import type { Dialect, Query, SqlDatabase } from '../../../core/sql.js';
import { column, first, lockOf, run } from '../../../core/sql.js';
import type { SqlGraphStore } from './graph.js';

const next = ({ orderedJoin, using, items }: Dialect): string => `SELECT d.id, d.name, c.tenant, c.owner
  FROM collections c ${orderedJoin} documents d ${using('documents_unread')} ON d.collection = c.id
  WHERE d.reads_left > 0
    AND (CAST(@only AS TEXT) IS NULL OR c.name IN ${items('text', '@only')})
    AND (CAST(@except AS TEXT) IS NULL OR c.name NOT IN ${items('text', '@except')})
  ORDER BY c.id, d.id LIMIT 1`;
const PASSAGES = 'SELECT text FROM passages WHERE document = ? ORDER BY start';
const FIND = `SELECT c.name AS collection, d.origin, d.name, d.hash, d.facts
  FROM documents d JOIN collections c ON c.id = d.collection
  WHERE d.id = ? AND c.tenant = ? AND c.owner = ? AND d.reads_left > 0`;
const DONE = 'UPDATE documents SET reads_left = 0 WHERE id = ?';
const FAILED = 'UPDATE documents SET reads_left = reads_left - 1 WHERE id = ? AND reads_left > 0';

/** The queue of documents to extract triples from: a column of the documents counts the attempts left. */
export class SqlExtractionStore implements ExtractionStore {
  readonly #database: SqlDatabase;
  readonly #graph: SqlGraphStore;

  constructor(database: SqlDatabase, graph: SqlGraphStore) {
    this.#database = database;
    this.#graph = graph;
  }

  async next({ only, except }: CollectionFilter, characters: number): Promise<UnreadDocument | undefined> {
    const sql = next(this.#database.dialect);
    const names = { only: listed(only), except: listed(except) };
    const row = await this.#database.read(() => first<Omit<UnreadDocument, 'text'>>(sql, names));
    if (!row) return undefined;
    let left = characters;
    const texts = await this.#database.read(() => column<string>(PASSAGES, row.id));
    return { ...row, text: texts.filter(({ length }) => (left -= length) >= 0).join('\n\n') };
  }

  async done(unread: UnreadDocument, triples: readonly Triple[]): Promise<boolean> {
    return this.#database.write(lockOf(unread), (now) => this.#done(unread, triples, now));
  }

  async failed(unread: UnreadDocument): Promise<void> {
    await this.#database.write(lockOf(unread), () => run(FAILED, unread.id));
  }

  *#done({ id, tenant, owner }: UnreadDocument, triples: readonly Triple[], now: number): Query<boolean> {
    const row = yield* first<Row>(FIND, id, tenant, owner);
    if (!row) return false;
    const document = toRecord<DocumentVersion>(row, DOCUMENT_FORMAT);
    const origin = { source: sourceOf(document), fromOutside: document.facts.fromOutside };
    const stated = triples.map((triple) => ({ ...triple, ...origin }));
    yield* this.#graph.addInTransaction({ tenant, owner }, stated, now);
    yield* run(DONE, id);
    return true;
  }
}

function listed(names: readonly string[] | undefined): string | null {
  return names ? JSON.stringify(names) : null;
}
