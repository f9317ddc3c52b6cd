import type { ExtractionStore, UnreadDocument, Triple } from '../../stores/graph.js';
import type { CollectionFilter } from '../../stores/library.js';
import type { Row } from '../records.js';
import { toRecord } from '../records.js';
import type { DocumentVersion } from './library-rows.js';
import { DOCUMENT_FORMAT, sourceOf } from './library-rows.js';
import type { SqliteDatabase } from './database.js';
import type { SqliteGraphStore } from './graph.js';
import type { Prepared } from './prepared.js';

const NEXT = `SELECT d.id, d.name, c.tenant, c.owner
  FROM collections c CROSS JOIN documents d INDEXED BY documents_unread ON d.collection = c.id
  WHERE d.reads_left > 0
    AND (@only IS NULL OR c.name IN (SELECT value FROM json_each(@only)))
    AND (@except IS NULL OR c.name NOT IN (SELECT value FROM json_each(@except)))
  ORDER BY c.id, d.id LIMIT 1`;
const PASSAGES = 'SELECT text FROM passages WHERE document = ? ORDER BY start';
const FIND = `SELECT c.name AS collection, d.origin, d.name, d.hash, d.facts
  FROM documents d JOIN collections c ON c.id = d.collection
  WHERE d.id = ? AND c.tenant = ? AND c.owner = ? AND d.reads_left > 0`;
const DONE = 'UPDATE documents SET reads_left = 0 WHERE id = ?';
const FAILED = 'UPDATE documents SET reads_left = reads_left - 1 WHERE id = ? AND reads_left > 0';

/** The queue of documents to extract triples from: a column of the documents counts the attempts left. */
export class SqliteExtractionStore implements ExtractionStore {
  readonly #database: SqliteDatabase;
  readonly #graph: SqliteGraphStore;
  readonly #prepared: Prepared;

  constructor(database: SqliteDatabase, graph: SqliteGraphStore) {
    this.#database = database;
    this.#graph = graph;
    this.#prepared = database.prepared;
  }

  async next({ only, except }: CollectionFilter, characters: number): Promise<UnreadDocument | undefined> {
    return this.#database.read(() => {
      const row = this.#prepared.first<Omit<UnreadDocument, 'text'>>(NEXT, {
        only: listed(only),
        except: listed(except),
      });
      return row && { ...row, text: this.#textOf(row.id, characters) };
    });
  }

  async done({ id, tenant, owner }: UnreadDocument, triples: readonly Triple[]): Promise<boolean> {
    return this.#database.write(() => {
      const row = this.#prepared.first<Row>(FIND, id, tenant, owner);
      if (!row) return false;
      const document = toRecord<DocumentVersion>(row, DOCUMENT_FORMAT);
      const origin = { source: sourceOf(document), fromOutside: document.facts.fromOutside };
      const stated = triples.map((triple) => ({ ...triple, ...origin }));
      this.#graph.addInTransaction({ tenant, owner }, stated);
      this.#prepared.run(DONE, id);
      return true;
    });
  }

  async failed({ id }: UnreadDocument): Promise<void> {
    await this.#database.write(() => this.#prepared.run(FAILED, id));
  }

  #textOf(id: number, characters: number): string {
    let left = characters;
    const texts = this.#prepared.all<{ readonly text: string }>(PASSAGES, id).map(({ text }) => text);
    return texts.filter(({ length }) => (left -= length) >= 0).join('\n\n');
  }
}

function listed(names: readonly string[] | undefined): string | null {
  return names ? JSON.stringify(names) : null;
}
