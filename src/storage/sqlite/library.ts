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
} from '../../stores/library.js';
import { LangoError } from '../../core/errors.js';
import type { Scope } from '../../core/task.js';
import type { Row } from '../records.js';
import { toRecord } from '../records.js';
import { assertKeys } from '../rows.js';
import type { SqliteDatabase } from './database.js';
import type { SqliteGraphStore } from './graph.js';
import type { CollectionRow } from './library-rows.js';
import { DOCUMENT_FORMAT, findCollections, readHits, requireCollection, sourceOf } from './library-rows.js';
import {
  addMorePassages,
  PASSAGES_AT_ONCE,
  putDocument,
  removeDocuments,
  thinDocument,
} from './library-writes.js';
import type { WholeDocument } from './library-writes.js';
import type { Prepared } from './prepared.js';
import { searchText, TermCounts } from './text-search.js';
import { assertDimension, toBlob, VectorSearch } from './vector-search.js';

const LIST = `SELECT d.id, c.name AS collection, d.origin, d.name, d.hash, d.modified_at, d.bytes, d.facts, d.saved_at,
    d.passages
  FROM documents d JOIN collections c ON c.id = d.collection
  WHERE d.collection IN (SELECT value FROM json_each(?)) AND d.id > ? ORDER BY d.id LIMIT ?`;
const ORIGINS = 'SELECT origin FROM documents WHERE collection = ?';
/** The number of documents that one transaction removes. */
const REMOVED_AT_ONCE = 20;
const UNEMBEDDED = `SELECT p.id, d.name, p.heading, p.text FROM passages p JOIN documents d ON d.id = p.document
  WHERE p.collection IN (SELECT value FROM json_each(?)) AND p.embedded = 0 ORDER BY p.id LIMIT ?`;
const COLLECTION_OF = 'SELECT collection FROM passages WHERE id = ?';
const ADD_VECTOR = `INSERT INTO vectors (passage, collection, vector) VALUES (?, ?, ?)
  ON CONFLICT DO UPDATE SET vector = excluded.vector`;
const MARK_EMBEDDED = 'UPDATE passages SET embedded = 1 WHERE id = ?';
const SET_EMBEDDING = 'UPDATE collections SET model = ?, dimension = ? WHERE id = ?';
/** The number of vectors that one transaction removes. */
const DROPPED_AT_ONCE = 200;
const DROP_VECTORS = `DELETE FROM vectors
  WHERE passage IN (SELECT passage FROM vectors WHERE collection = ? ORDER BY passage LIMIT ?) RETURNING passage`;
const MARK_UNEMBEDDED = 'UPDATE passages SET embedded = 0 WHERE id = ?';

/** Stores documents and their passages, with an FTS5 index of their words, and their vectors as blobs. */
export class SqliteLibraryStore implements LibraryStore {
  readonly #database: SqliteDatabase;
  readonly #graph: SqliteGraphStore;
  readonly #prepared: Prepared;
  readonly #counts: TermCounts;
  readonly #vectors: VectorSearch;

  constructor(database: SqliteDatabase, graph: SqliteGraphStore) {
    this.#database = database;
    this.#graph = graph;
    this.#prepared = database.prepared;
    this.#counts = new TermCounts(this.#prepared);
    this.#vectors = new VectorSearch(database, this.#prepared);
  }

  async put(scope: Scope, document: NewDocument): Promise<'added' | 'changed' | 'unchanged'> {
    assertKeys({ origin: document.origin, name: document.name });
    await this.#thin(scope, document.collection, document);
    const part = { ...document, atOnce: PASSAGES_AT_ONCE };
    const put = await this.#database.write(() =>
      this.putInTransaction(scope, this.requireInTransaction(scope, document.collection), part),
    );
    this.#vectors.removed(put.row.id, put.passages);
    const place = { collection: put.row, document, id: put.id };
    for (let { left } = put; left.length > 0;) {
      const passages = left;
      left = await this.#database.write(() => addMorePassages(this.#prepared, place, passages));
    }
    return put.outcome;
  }

  /** Shortens the document of an origin in steps, so that the rest can go in one transaction. */
  async #thin(
    scope: Scope,
    collection: string,
    document: { readonly origin: string; readonly hash?: string },
  ): Promise<void> {
    const [row] = this.#database.read(() => findCollections(this.#prepared, scope, { only: [collection] }));
    if (!row) return;
    for (let goesOn = true; goesOn;) {
      const gone = await this.#database.write(() => thinDocument(this.#prepared, row, document));
      this.#vectors.removed(row.id, gone);
      goesOn = gone.length > 0;
    }
  }

  /** To be called inside a write. Throws before it writes anything. */
  requireInTransaction(scope: Scope, collection: string): CollectionRow {
    return requireCollection(this.#prepared, scope, collection);
  }

  /** To be called inside a write of another store. That store passes the removed passages to `forgetVectors` after the commit. */
  putInTransaction(scope: Scope, row: CollectionRow, document: WholeDocument) {
    const placed = { ...document, savedAt: this.#database.now() };
    const { outcome, removed, id, left } = putDocument(this.#prepared, row, placed);
    for (const old of removed.documents) this.#graph.removeSourceInTransaction(scope, sourceOf(old));
    return { row, outcome, id, left, passages: removed.passages };
  }

  /** Like `putInTransaction`. */
  removeInTransaction(scope: Scope, collection: string, origins: readonly string[]) {
    const [row] = findCollections(this.#prepared, scope, { only: [collection] });
    if (!row) return undefined;
    const { documents, passages } = removeDocuments(this.#prepared, row, origins);
    for (const gone of documents) {
      this.#graph.removeSourceInTransaction(scope, sourceOf(gone));
      // Triples that a user added by hand, with this document as their source.
      this.#graph.removeSourceInTransaction(scope, `${collection} ${gone.name}`);
    }
    return { row, passages, count: documents.length };
  }

  forgetVectors(collectionId: number, passages: readonly number[]): void {
    this.#vectors.removed(collectionId, passages);
  }

  async remove(scope: Scope, collection: string, origins?: readonly string[]): Promise<number> {
    const targets = origins ?? this.#originsIn(scope, collection);
    let removed = 0;
    for (let from = 0; from < targets.length; from += REMOVED_AT_ONCE) {
      const some = targets.slice(from, from + REMOVED_AT_ONCE);
      for (const origin of some) await this.#thin(scope, collection, { origin });
      const gone = await this.#database.write(() => this.removeInTransaction(scope, collection, some));
      if (gone) this.#vectors.removed(gone.row.id, gone.passages);
      removed += gone?.count ?? 0;
    }
    return removed;
  }

  async list(scope: Scope, { limit, after, ...collections }: DocumentQuery): Promise<DocumentPage> {
    return this.#database.read(() => {
      const ids = JSON.stringify(findCollections(this.#prepared, scope, collections).map(({ id }) => id));
      const rows = this.#prepared.all<Row>(LIST, ids, Number(after ?? 0), limit);
      const next = rows.length === limit ? (rows.at(-1)?.['id'] as number) : undefined;
      return {
        documents: rows.map(({ id: _, ...row }) => toRecord(row, DOCUMENT_FORMAT)),
        next: next === undefined ? undefined : String(next),
      };
    });
  }

  async collections(scope: Scope): Promise<readonly CollectionRecord[]> {
    return this.#database.read(() =>
      findCollections(this.#prepared, scope, {}).map(({ id: _, model, dimension, ...counts }) => ({
        ...counts,
        embedding: counts.embedded > 0 ? { model, dimension } : undefined,
      })),
    );
  }

  async findText(scope: Scope, query: TextQuery): Promise<readonly Hit[]> {
    return this.#database.read(() => {
      const collections = findCollections(this.#prepared, scope, query);
      return searchText({ prepared: this.#prepared, counts: this.#counts }, collections, query);
    });
  }

  async findNear(
    scope: Scope,
    { vector, model, limit, ...collections }: VectorQuery,
  ): Promise<readonly Hit[]> {
    const selected = this.#database
      .read(() => findCollections(this.#prepared, scope, collections))
      .filter((collection) => collection.model === model);
    const found = await this.#vectors.find(selected, vector, limit);
    return this.#database.read(() => readHits(this.#prepared, found));
  }

  async unembedded(scope: Scope, model: string, limit: number): Promise<readonly Unembedded[]> {
    return this.#database.read(() => {
      const collections = findCollections(this.#prepared, scope, {}).filter((collection) =>
        isFor(collection, model),
      );
      const ids = JSON.stringify(collections.map(({ id }) => id));
      const rows = this.#prepared.all<Row>(UNEMBEDDED, ids, limit);
      return rows.map((row) => toRecord(row, DOCUMENT_FORMAT));
    });
  }

  async addVectors(scope: Scope, model: string, vectors: ReadonlyMap<number, Float32Array>): Promise<void> {
    const added = await this.#database.write(() => {
      const collections = new Map(
        findCollections(this.#prepared, scope, {}).map((collection) => [collection.id, collection]),
      );
      const groups = Map.groupBy([...vectors], ([id]) => this.#collectionOf(id));
      const placed = [...groups].flatMap(([collectionId, members]) => {
        const collection = collections.get(collectionId ?? NONE);
        return collection ? [{ collection, vectors: new Map(members) }] : [];
      });
      for (const each of placed) assertFits(each.collection, model, each.vectors);
      for (const each of placed) this.#addVectors(each.collection, model, each.vectors);
      return placed;
    });
    for (const { collection, vectors: stored } of added) this.#vectors.added(collection.id, stored);
  }

  async dropVectors(scope: Scope, collections: CollectionFilter): Promise<number> {
    const selected = this.#database.read(() => findCollections(this.#prepared, scope, collections));
    let dropped = 0;
    for (const { id } of selected) {
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

  /** Inside a write. Clears the model of the collection along with its last vector. */
  #dropSome(collectionId: number): readonly number[] {
    const passages = this.#prepared.column<number>(DROP_VECTORS, collectionId, DROPPED_AT_ONCE);
    for (const passage of passages) this.#prepared.run(MARK_UNEMBEDDED, passage);
    if (passages.length < DROPPED_AT_ONCE) this.#prepared.run(SET_EMBEDDING, '', 0, collectionId);
    return passages;
  }

  #originsIn(scope: Scope, collection: string): readonly string[] {
    return this.#database.read(() => {
      const [row] = findCollections(this.#prepared, scope, { only: [collection] });
      return row ? this.#prepared.column<string>(ORIGINS, row.id) : [];
    });
  }

  #collectionOf(passage: number): number | undefined {
    return this.#prepared.column<number>(COLLECTION_OF, passage)[0];
  }

  #addVectors(
    { id: collectionId }: CollectionRow,
    model: string,
    vectors: ReadonlyMap<number, Float32Array>,
  ): void {
    for (const [id, vector] of vectors) {
      this.#prepared.run(ADD_VECTOR, id, collectionId, toBlob(vector));
      this.#prepared.run(MARK_EMBEDDED, id);
      this.#prepared.run(SET_EMBEDDING, model, vector.length, collectionId);
    }
  }
}

/** No collection has this id. */
const NONE = 0;

function assertFits(
  collection: CollectionRow,
  model: string,
  vectors: ReadonlyMap<number, Float32Array>,
): void {
  if (!isFor(collection, model)) {
    throw new LangoError(
      'conflict',
      `The collection ${collection.name} has vectors of ${collection.model}.`,
      {
        hint: 'Compute them again with: lango ingest --reembed',
      },
    );
  }
  const lengths = new Set(Array.from(vectors.values(), ({ length }) => length));
  if (lengths.size > 1) throw new LangoError('conflict', 'Vectors of one model differ in their dimension.');
  for (const length of lengths) assertDimension(collection, length);
}

function isFor({ model }: CollectionRow, asked: string): boolean {
  return model === '' || model === asked;
}
