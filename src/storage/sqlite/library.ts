import type {
  CollectionRecord,
  DocumentPage,
  DocumentQuery,
  Hit,
  LibraryStore,
  NewDocument,
  CollectionFilter,
  TextQuery,
  Unembedded,
  VectorQuery,
} from '../../core/library.js';
import { sourceOf, readHits, toDocumentRecord } from './library-rows.js';
import { LangoError } from '../../core/errors.js';
import type { Scope } from '../../core/task.js';
import { assertKeys } from '../rows.js';
import type { SqliteDatabase } from './database.js';
import type { SqliteGraphStore } from './graph.js';
import type { DocumentRow } from './library-rows.js';
import { putDocument, removeDocuments } from './library-writes.js';
import { Prepared } from './prepared.js';
import type { Shelf } from './shelves.js';
import { findShelves, requireShelf } from './shelves.js';
import { TermCounts } from './term-counts.js';
import { searchText } from './text-search.js';
import { assertDimension, toBlob, VectorSearch } from './vector-search.js';

const LIST = `SELECT d.*, s.collection FROM documents d JOIN shelves s ON s.id = d.shelf
  WHERE d.shelf IN (SELECT value FROM json_each(?)) AND d.id > ? ORDER BY d.id LIMIT ?`;
const ORIGINS = 'SELECT origin FROM documents WHERE shelf = ?';
/** Documents that one transaction takes away. */
const REMOVED_AT_ONCE = 20;
const UNEMBEDDED = `SELECT p.id, d.name, p.heading, p.text FROM passages p JOIN documents d ON d.id = p.document
  WHERE p.shelf IN (SELECT value FROM json_each(?)) AND p.embedded = 0 ORDER BY p.id LIMIT ?`;
const SHELF_OF = 'SELECT shelf FROM passages WHERE id = ?';
const ADD_VECTOR = `INSERT INTO vectors (passage, shelf, vector) VALUES (?, ?, ?)
  ON CONFLICT DO UPDATE SET vector = excluded.vector`;
const MARK_EMBEDDED = 'UPDATE passages SET embedded = 1 WHERE id = ?';
const SET_EMBEDDING = 'UPDATE shelves SET model = ?, dimension = ? WHERE id = ?';
/** Vectors that one transaction takes away. */
const DROPPED_AT_ONCE = 200;
const DROP_VECTORS = `DELETE FROM vectors
  WHERE passage IN (SELECT passage FROM vectors WHERE shelf = ? ORDER BY passage LIMIT ?) RETURNING passage`;
const MARK_UNEMBEDDED = 'UPDATE passages SET embedded = 0 WHERE id = ?';

/** Documents, passages, their words in FTS5 and their vectors as blobs. */
export class SqliteLibraryStore implements LibraryStore {
  readonly #database: SqliteDatabase;
  readonly #graph: SqliteGraphStore;
  readonly #prepared: Prepared;
  readonly #counts: TermCounts;
  readonly #vectors: VectorSearch;

  constructor(database: SqliteDatabase, graph: SqliteGraphStore) {
    this.#database = database;
    this.#graph = graph;
    this.#prepared = new Prepared(database.handle);
    this.#counts = new TermCounts(this.#prepared);
    this.#vectors = new VectorSearch(database, this.#prepared);
  }

  async put(scope: Scope, document: NewDocument): Promise<'added' | 'changed' | 'unchanged'> {
    assertKeys({ origin: document.origin, name: document.name });
    const { shelf, outcome, passages } = await this.#database.write(() =>
      this.putNow(scope, this.shelfNow(scope, document.collection), document),
    );
    this.#vectors.removed(shelf.id, passages);
    return outcome;
  }

  /** Inside a write. Throws before it writes anything. */
  shelfNow(scope: Scope, collection: string): Shelf {
    return requireShelf(this.#prepared, scope, collection);
  }

  /** Inside a write of another store, which calls `forgotten` with what was removed after the commit. */
  putNow(scope: Scope, shelf: Shelf, document: NewDocument) {
    const placed = { ...document, savedAt: this.#database.now() };
    const { outcome, removed } = putDocument(this.#prepared, shelf, placed);
    for (const old of removed.documents) this.#graph.removeSourceNow(scope, sourceOf(old));
    return { shelf, outcome, passages: removed.passages };
  }

  /** Like `putNow`. */
  removeNow(scope: Scope, collection: string, origins: readonly string[]) {
    const [shelf] = findShelves(this.#prepared, scope, { only: [collection] });
    if (!shelf) return undefined;
    const { documents, passages } = removeDocuments(this.#prepared, shelf, origins);
    for (const gone of documents) {
      this.#graph.removeSourceNow(scope, sourceOf(gone));
      // What somebody added by hand and said to be from it.
      this.#graph.removeSourceNow(scope, `${collection} ${gone.name}`);
    }
    return { shelf, passages, count: documents.length };
  }

  forgotten(shelfId: number, passages: readonly number[]): void {
    this.#vectors.removed(shelfId, passages);
  }

  async remove(scope: Scope, collection: string, origins?: readonly string[]): Promise<number> {
    const meant = origins ?? this.#originsIn(scope, collection);
    let removed = 0;
    for (let from = 0; from < meant.length; from += REMOVED_AT_ONCE) {
      const some = meant.slice(from, from + REMOVED_AT_ONCE);
      const gone = await this.#database.write(() => this.removeNow(scope, collection, some));
      if (gone) this.#vectors.removed(gone.shelf.id, gone.passages);
      removed += gone?.count ?? 0;
    }
    return removed;
  }

  async list(scope: Scope, { limit, after, ...shelves }: DocumentQuery): Promise<DocumentPage> {
    return this.#database.read(() => {
      const ids = JSON.stringify(findShelves(this.#prepared, scope, shelves).map(({ id }) => id));
      const rows = this.#prepared.all<DocumentRow>(LIST, ids, Number(after ?? 0), limit);
      const last = rows.at(-1);
      return {
        documents: rows.map(toDocumentRecord),
        next: last && rows.length === limit ? String(last.id) : undefined,
      };
    });
  }

  async collections(scope: Scope): Promise<readonly CollectionRecord[]> {
    return this.#database.read(() =>
      findShelves(this.#prepared, scope, {}).map(({ id: _id, collection, model, dimension, ...counts }) => ({
        ...counts,
        name: collection,
        embedding: counts.embedded > 0 ? { model, dimension } : undefined,
      })),
    );
  }

  async findText(scope: Scope, query: TextQuery): Promise<readonly Hit[]> {
    return this.#database.read(() => {
      const shelves = findShelves(this.#prepared, scope, query);
      return searchText({ prepared: this.#prepared, counts: this.#counts }, shelves, query);
    });
  }

  async findNear(scope: Scope, { vector, model, limit, ...shelves }: VectorQuery): Promise<readonly Hit[]> {
    const meant = this.#database
      .read(() => findShelves(this.#prepared, scope, shelves))
      .filter((shelf) => shelf.model === model);
    const found = await this.#vectors.find(meant, vector, limit);
    return this.#database.read(() => readHits(this.#prepared, found));
  }

  async unembedded(scope: Scope, model: string, limit: number): Promise<readonly Unembedded[]> {
    return this.#database.read(() => {
      const shelves = findShelves(this.#prepared, scope, {}).filter((shelf) => isFor(shelf, model));
      const ids = JSON.stringify(shelves.map(({ id }) => id));
      const rows = this.#prepared.all<Unembedded & { readonly heading: string }>(UNEMBEDDED, ids, limit);
      return rows.map((row) => ({
        ...row,
        heading: JSON.parse(row.heading as unknown as string) as string[],
      }));
    });
  }

  async addVectors(scope: Scope, model: string, vectors: ReadonlyMap<number, Float32Array>): Promise<void> {
    const added = await this.#database.write(() => {
      const shelves = new Map(findShelves(this.#prepared, scope, {}).map((shelf) => [shelf.id, shelf]));
      const groups = Map.groupBy([...vectors], ([id]) => this.#shelfOf(id));
      const placed = [...groups].flatMap(([shelfId, members]) => {
        const shelf = shelves.get(shelfId ?? NONE);
        return shelf ? [{ shelf, vectors: new Map(members) }] : [];
      });
      for (const each of placed) assertFits(each.shelf, model, each.vectors);
      for (const each of placed) this.#addVectors(each.shelf, model, each.vectors);
      return placed;
    });
    for (const { shelf, vectors: kept } of added) this.#vectors.added(shelf.id, kept);
  }

  async dropVectors(scope: Scope, shelves: CollectionFilter): Promise<number> {
    const meant = this.#database.read(() => findShelves(this.#prepared, scope, shelves));
    let dropped = 0;
    for (const { id } of meant) {
      for (let isLast = false; !isLast;) {
        const passages = await this.#database.write(() => this.#dropSome(id));
        dropped += passages.length;
        isLast = passages.length < DROPPED_AT_ONCE;
        if (isLast) this.#vectors.dropped(id);
        else this.#vectors.removed(id, passages);
      }
    }
    return dropped;
  }

  /** Inside a write. With the last vector goes what model they were of. */
  #dropSome(shelf: number): readonly number[] {
    const passages = this.#prepared.column<number>(DROP_VECTORS, shelf, DROPPED_AT_ONCE);
    for (const passage of passages) this.#prepared.run(MARK_UNEMBEDDED, passage);
    if (passages.length < DROPPED_AT_ONCE) this.#prepared.run(SET_EMBEDDING, '', 0, shelf);
    return passages;
  }

  #originsIn(scope: Scope, collection: string): readonly string[] {
    return this.#database.read(() => {
      const [shelf] = findShelves(this.#prepared, scope, { only: [collection] });
      return shelf ? this.#prepared.column<string>(ORIGINS, shelf.id) : [];
    });
  }

  #shelfOf(passage: number): number | undefined {
    return this.#prepared.first<{ readonly shelf: number }>(SHELF_OF, passage)?.shelf;
  }

  #addVectors({ id: shelf }: Shelf, model: string, vectors: ReadonlyMap<number, Float32Array>): void {
    for (const [id, vector] of vectors) {
      this.#prepared.run(ADD_VECTOR, id, shelf, toBlob(vector));
      this.#prepared.run(MARK_EMBEDDED, id);
      this.#prepared.run(SET_EMBEDDING, model, vector.length, shelf);
    }
  }
}

/** No shelf has this number. */
const NONE = 0;

function assertFits(shelf: Shelf, model: string, vectors: ReadonlyMap<number, Float32Array>): void {
  if (!isFor(shelf, model)) {
    throw new LangoError('conflict', `The collection ${shelf.collection} has vectors of ${shelf.model}.`, {
      hint: 'Make them anew: lango ingest --reembed',
    });
  }
  const lengths = new Set(Array.from(vectors.values(), ({ length }) => length));
  if (lengths.size > 1) throw new LangoError('conflict', 'Vectors of one model differ in their dimension.');
  for (const length of lengths) assertDimension(shelf, length);
}

function isFor({ model }: Shelf, asked: string): boolean {
  return model === '' || model === asked;
}
