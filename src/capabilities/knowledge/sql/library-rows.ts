import { LangoError } from '../../../core/errors.js';
import type { CollectionFilter, Hit, NewDocument } from '../stores/library.js';
import type { Scope } from '../../../core/task.js';
import { assertKeys, toRecord, type Row } from '../../../stores/records.js';
import { all, first, type Dialect, type Query } from '../../../core/sql.js';

/** The members of documents and passages that are stored as JSON. */
export const DOCUMENT_FORMAT = { json: ['facts', 'heading', 'lines'] };

/** Identifies a document and its version. */
export type DocumentVersion = Pick<NewDocument, 'collection' | 'origin' | 'name' | 'hash' | 'facts'>;

const hits = ({ items }: Dialect): string => `
  SELECT p.id, p.start, p."end", p.lines, p.heading, p.text,
    c.name AS collection, d.origin, d.name, d.facts, d.saved_at
  FROM passages p JOIN documents d ON d.id = p.document JOIN collections c ON c.id = p.collection
  WHERE p.id IN ${items('number')}`;

/** Reads the passages with their scores, in the given order. Leaves out passages that were removed meanwhile. */
export function* readHits(dialect: Dialect, found: ReadonlyMap<number, number>): Query<readonly Hit[]> {
  const rows = yield* all<Row & Pick<Hit, 'id'>>(hits(dialect), JSON.stringify([...found.keys()]));
  const byId = new Map(rows.map((row) => [row.id, row]));
  return [...found].flatMap(([id, score]) => {
    const row = byId.get(id);
    return row ? [{ ...toRecord<Hit>(row, DOCUMENT_FORMAT), score }] : [];
  });
}

/** Names the source of triples that are extracted from a document: the document and its version. */
export function sourceOf({ collection, origin, name, hash, facts }: DocumentVersion): string {
  return facts.version === undefined
    ? `${collection} ${origin} version ${hash.slice(0, SHOWN_HASH_CHARACTERS)}`
    : `${collection} ${JSON.stringify(name)} version ${facts.version}`;
}

const SHOWN_HASH_CHARACTERS = 12;

/** One collection of one owner. */
export interface CollectionRow {
  readonly id: number;
  readonly name: string;
  /** The embedding model. Empty if the collection has no vectors. */
  readonly model: string;
  readonly dimension: number;
  readonly documents: number;
  readonly passages: number;
  /** The number of passages with a vector. */
  readonly embedded: number;
}

/** The most collections of one owner. A search that names no collection reads all of them. */
const MAX_COLLECTIONS = 100;

const COLLECTIONS = `SELECT id, name, model, dimension, documents, passages, embedded FROM collections
  WHERE tenant = ? AND owner = ? ORDER BY id`;
const ADD_COLLECTION = 'INSERT INTO collections (tenant, owner, name) VALUES (?, ?, ?) RETURNING id';

/** Finds the collections of an owner that pass the filter. */
export function* findCollections(
  scope: Scope,
  { only, except }: CollectionFilter,
): Query<readonly CollectionRow[]> {
  const rows = yield* all<CollectionRow>(COLLECTIONS, scope.tenant, scope.owner);
  return rows.filter(({ name }) => (only?.includes(name) ?? true) && !except?.includes(name));
}

/** Returns a collection, or creates it, inside a write. Throws `too-many` before it writes if the owner has too many. */
export function* requireCollection(scope: Scope, name: string): Query<CollectionRow> {
  const all = yield* findCollections(scope, {});
  const known = all.find((row) => row.name === name);
  if (known) return known;
  if (all.length >= MAX_COLLECTIONS) {
    const text = `This owner has ${MAX_COLLECTIONS} collections already, which is the limit.`;
    throw new LangoError('too-many', text, { hint: 'Use one of them, or remove one.' });
  }
  assertKeys({ tenant: scope.tenant, owner: scope.owner, collection: name });
  const row = yield* first<Pick<CollectionRow, 'id'>>(ADD_COLLECTION, scope.tenant, scope.owner, name);
  const empty = { model: '', dimension: 0, documents: 0, passages: 0, embedded: 0 };
  return { id: row!.id, name, ...empty };
}
