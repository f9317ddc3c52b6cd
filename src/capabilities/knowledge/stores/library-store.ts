import { LangoError } from '../../../core/errors.js';
import type { Page } from '../../../core/page.js';
import { all, column, lockOf, run, writeInSteps } from '../../../core/sql.js';
import type { Dialect, Query, SqlDatabase, Step } from '../../../core/sql.js';
import type { Scope } from '../../../core/task.js';
import type { Passage } from '../../../parsing/passages.js';
import { assertKeys, toRecord, type Row } from '../../../stores/records.js';
import {
  addMorePassages,
  PASSAGES_AT_ONCE,
  putDocument,
  removeDocuments,
  thinDocument,
} from '../sql/library-writes.js';
import type { LibraryWrite, Target } from '../sql/library-writes.js';
import { openTextIndex, searchText, type TextIndex } from '../sql/text-search.js';
import { assertDimension, toBlob, VectorSearch } from '../sql/vector-search.js';
import type { GraphStore } from './graph.js';
import { DOCUMENT_FORMAT, findCollections, readHits, requireCollection, sourceOf } from './library.js';
import type {
  CollectionFilter,
  CollectionRow,
  DocumentRecord,
  Hit,
  NewDocument,
  TextQuery,
  VectorQuery,
} from './library.js';

const list = ({ items }: Dialect): string => `
  SELECT d.id, c.name AS collection, d.origin, d.name, d.hash, d.modified_at, d.bytes, d.facts, d.saved_at, d.passages
  FROM documents d JOIN collections c ON c.id = d.collection
  WHERE d.collection IN ${items('number')} AND d.id > ? ORDER BY d.id LIMIT ?`;
const ORIGINS = `SELECT d.origin FROM documents d JOIN collections c ON c.id = d.collection
  WHERE c.tenant = ? AND c.owner = ? AND c.name = ?`;
/** The number of documents that one transaction removes. */
const REMOVED_AT_ONCE = 20;
const unembedded = ({ items }: Dialect): string => `
  SELECT p.id, d.name, p.heading, p.text FROM passages p JOIN documents d ON d.id = p.document
  WHERE p.collection IN ${items('number')} AND p.embedded = 0 ORDER BY p.id LIMIT ?`;
const COLLECTION_OF = 'SELECT id, collection FROM passages WHERE id IN';
const ADD_VECTOR = `INSERT INTO vectors (passage, collection, vector) VALUES (?, ?, ?)
  ON CONFLICT (passage) DO UPDATE SET vector = excluded.vector`;
const SET_EMBEDDING = 'UPDATE collections SET model = ?, dimension = ? WHERE id = ?';
/** The number of vectors that one transaction removes. */
const DROPPED_AT_ONCE = 200;
const DROP_VECTORS = `DELETE FROM vectors
  WHERE passage IN (SELECT passage FROM vectors WHERE collection = ? ORDER BY passage LIMIT ?) RETURNING passage`;

/**
 * An owner's documents with their passages, word index and vectors. Removing a document removes all of that. Writes are
 * atomic, resolve after commit and reject with code `storage`.
 */
export class LibraryStore {
  readonly #database: SqlDatabase;
  readonly #graph: GraphStore;
  readonly #index: TextIndex;
  readonly #vectors: VectorSearch;

  constructor(database: SqlDatabase, graph: GraphStore) {
    this.#database = database;
    this.#graph = graph;
    this.#index = openTextIndex(database.dialect);
    this.#vectors = new VectorSearch(database);
  }

  /** Adds a document, or replaces the one with the same origin. With an equal hash, the passages stay. */
  async put(scope: Scope, document: NewDocument): Promise<'added' | 'changed' | 'unchanged'> {
    assertKeys({ origin: document.origin, name: document.name });
    await this.#thin(scope, document.collection, document);
    const put = await this.write(scope, (write) => this.#put(write, document));
    for (let left: readonly Passage[] = put.left; left.length > 0;) {
      const passages = left;
      left = await this.write(scope, (write) =>
        addMorePassages({ ...write, collection: put.collection, document, id: put.id }, passages),
      );
    }
    return put.outcome;
  }

  /** Shortens the document of an origin in steps, so that one transaction can remove the rest. */
  async #thin(
    scope: Scope,
    name: string,
    document: { readonly origin: string; readonly hash?: string },
  ): Promise<void> {
    const [collection] = await this.collections(scope, { only: [name] });
    if (!collection) return;
    while (await this.write(scope, (write) => thinDocument({ ...write, collection }, document)));
  }

  /** Runs work in one transaction. The vectors of passages that it removes leave the memory after the commit. */
  async write<Result>(scope: Scope, work: (write: LibraryWrite) => Query<Result>): Promise<Result> {
    const { dialect } = this.#database;
    let removed: LibraryWrite['removed'] = [];
    const result = await this.#database.write(lockOf(scope), (now) => {
      removed = [];
      return work({ dialect, scope, now, removed });
    });
    for (const [collectionId, passages] of removed) this.#vectors.removed(collectionId, passages);
    return result;
  }

  /** Call it inside a write. Adds a document, or the first `atOnce` of its passages, or replaces one. */
  *putInTransaction(target: Target, document: NewDocument, atOnce = Infinity) {
    const put = yield* putDocument(target, document, atOnce);
    for (const old of put.replaced) yield* this.#graph.removeSourceInTransaction(target.scope, sourceOf(old));
    return put;
  }

  /** Call it inside a write. Removes documents and returns their number. */
  *removeInTransaction(write: LibraryWrite, name: string, origins: readonly string[]): Query<number> {
    const { scope } = write;
    const [collection] = yield* findCollections(scope, { only: [name] });
    if (!collection) return 0;
    const documents = yield* removeDocuments({ ...write, collection }, origins);
    for (const gone of documents) {
      yield* this.#graph.removeSourceInTransaction(scope, sourceOf(gone));
      // Triples that a user added by hand, with this document as their source.
      yield* this.#graph.removeSourceInTransaction(scope, `${name} ${gone.name}`);
    }
    return documents.length;
  }

  /**
   * Removes documents, or the whole collection without `origins`, and resolves with their number. Each document is removed
   * in one transaction; when one fails, a repeated call continues.
   */
  async remove(scope: Scope, collection: string, origins?: readonly string[]): Promise<number> {
    const { tenant, owner } = scope;
    const listAll = () => column<string>(ORIGINS, tenant, owner, collection);
    const targets = origins ?? (await this.#database.read(listAll));
    let removed = 0;
    for (let from = 0; from < targets.length; from += REMOVED_AT_ONCE) {
      const some = targets.slice(from, from + REMOVED_AT_ONCE);
      for (const origin of some) await this.#thin(scope, collection, { origin });
      removed += await this.write(scope, (write) => this.removeInTransaction(write, collection, some));
    }
    return removed;
  }

  /** `after`: the `next` of the page before. */
  async list(
    scope: Scope,
    { limit, after, ...collections }: CollectionFilter & Readonly<{ limit: number; after?: string }>,
  ): Promise<Page<DocumentRecord>> {
    const sql = list(this.#database.dialect);
    const ids = JSON.stringify((await this.collections(scope, collections)).map(({ id }) => id));
    const rows = await this.#database.read(() => all<Row>(sql, ids, Number(after ?? 0), limit));
    const next = rows.length === limit ? String(rows.at(-1)!['id']) : undefined;
    return { items: rows.map(({ id: _, ...row }) => toRecord(row, DOCUMENT_FORMAT)), next };
  }

  collections(scope: Scope, filter: CollectionFilter = {}): Promise<readonly CollectionRow[]> {
    return this.#database.read(() => findCollections(scope, filter));
  }

  /** Finds passages by words, the best first. Words in nearly every passage do not count; without others, the newest come first. */
  async findText(scope: Scope, query: TextQuery): Promise<readonly Hit[]> {
    const collections = await this.collections(scope, query);
    return this.#database.read(() => searchText(this.#index, collections, query));
  }

  /** Finds passages by the angle to `vector`, the nearest first. Rejects with `conflict` for a vector of another dimension. */
  async findNear(
    scope: Scope,
    { vector, model, limit, ...collections }: VectorQuery,
  ): Promise<readonly Hit[]> {
    const all = await this.collections(scope, collections);
    const ofModel = all.filter((collection) => collection.model === model);
    const found = await this.#vectors.find(ofModel, vector, limit);
    return this.#database.read(() => readHits(this.#database.dialect, found));
  }

  /** Lists passages without a vector, with the parts that one is made of, in collections that have no vectors of a model other than `model`. */
  async unembedded(scope: Scope, model: string, limit: number) {
    const collections = (await this.collections(scope)).filter((collection) => isFor(collection, model));
    const ids = JSON.stringify(collections.map(({ id }) => id));
    const sql = unembedded(this.#database.dialect);
    const rows = await this.#database.read(() => all<Row>(sql, ids, limit));
    return rows.map((row) => toRecord<Pick<Hit, 'id' | 'name' | 'heading' | 'text'>>(row, DOCUMENT_FORMAT));
  }

  /**
   * Stores vectors of length 1 by the ids of their passages, and skips passages that were removed. Rejects with `conflict`,
   * and stores none, when the vectors differ in dimension, or the collection has vectors of another model or dimension.
   */
  async addVectors(scope: Scope, model: string, vectors: ReadonlyMap<number, Float32Array>): Promise<void> {
    const added = await this.#database.write(lockOf(scope), () =>
      addVectors(this.#database.dialect, scope, { model, vectors }),
    );
    for (const { collection, vectors: stored } of added) this.#vectors.added(collection.id, stored);
  }

  /** Removes all vectors and resolves with their number. Runs in steps like `remove`. */
  async dropVectors(scope: Scope, collections: CollectionFilter): Promise<number> {
    const { dialect } = this.#database;
    let dropped = 0;
    for (const { id } of await this.collections(scope, collections)) {
      const dropping = writeInSteps(this.#database, lockOf(scope), () => dropSome(dialect, id));
      dropped += await dropping.finally(() => this.#vectors.dropped(id));
    }
    return dropped;
  }

  *#put(write: LibraryWrite, document: NewDocument) {
    const collection = yield* requireCollection(write.scope, document.collection);
    const put = yield* this.putInTransaction({ ...write, collection }, document, PASSAGES_AT_ONCE);
    return { ...put, collection };
  }
}

/** Clears the model of the collection along with its last vector. */
function* dropSome(dialect: Dialect, collectionId: number): Query<Step> {
  const passages = yield* column<number>(DROP_VECTORS, collectionId, DROPPED_AT_ONCE);
  const isLast = passages.length < DROPPED_AT_ONCE;
  yield* run(
    `UPDATE passages SET embedded = 0 WHERE id IN ${dialect.items('number')}`,
    JSON.stringify(passages),
  );
  if (isLast) yield* run(SET_EMBEDDING, '', 0, collectionId);
  return { count: passages.length, isLast };
}

/** Stores vectors. Resolves with them by collection, without those of passages that were removed. */
function* addVectors(
  dialect: Dialect,
  scope: Scope,
  { model, vectors }: { readonly model: string; readonly vectors: ReadonlyMap<number, Float32Array> },
) {
  const ids = JSON.stringify([...vectors.keys()]);
  const found = yield* all<Record<'id' | 'collection', number>>(
    `${COLLECTION_OF} ${dialect.items('number')}`,
    ids,
  );
  const members = Map.groupBy(found, ({ collection }) => collection);
  const placed = (yield* findCollections(scope, {})).flatMap((collection) => {
    const passages = members.get(collection.id) ?? [];
    return passages.length === 0
      ? []
      : [{ collection, vectors: new Map(passages.map(({ id }) => [id, vectors.get(id)!])) }];
  });
  for (const { collection, vectors: members } of placed) assertFits(collection, model, members);
  for (const { collection, vectors: members } of placed) {
    for (const [id, vector] of members) yield* run(ADD_VECTOR, id, collection.id, toBlob(vector));
    const [{ length } = { length: 0 }] = members.values();
    const embedded = JSON.stringify([...members.keys()]);
    yield* run(`UPDATE passages SET embedded = 1 WHERE id IN ${dialect.items('number')}`, embedded);
    yield* run(SET_EMBEDDING, model, length, collection.id);
  }
  return placed;
}

function assertFits(
  collection: CollectionRow,
  model: string,
  vectors: ReadonlyMap<number, Float32Array>,
): void {
  if (!isFor(collection, model)) {
    const text = `The collection ${collection.name} has vectors of ${collection.model}, not of ${model}.`;
    throw new LangoError('conflict', text, { hint: 'Compute them again with: lango ingest --reembed' });
  }
  const lengths = new Set(Array.from(vectors.values(), ({ length }) => length));
  if (lengths.size > 1)
    throw new LangoError('conflict', 'The embedding model returned vectors of different dimensions.');
  for (const length of lengths) assertDimension(collection, length);
}

const isFor = ({ model }: CollectionRow, asked: string): boolean => model === '' || model === asked;
