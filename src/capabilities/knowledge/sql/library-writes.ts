import { MAX_EXTRACTION_ATTEMPTS } from '../stores/extraction.js';
import type { Scope } from '../../../core/task.js';
import type { Passage } from '../../../parsing/passages.js';
import { insertInto, insertRows, toParameters, toRecord, type Row } from '../../../stores/records.js';
import { passageTerms } from './relevance.js';
import { DOCUMENT_FORMAT } from '../stores/library.js';
import type { CollectionRow, DocumentVersion, NewDocument } from '../stores/library.js';
import { wordIndexOf } from './word-index.js';
import { indexTextOf } from './index-terms.js';
import { column, first, run, type Dialect, type Query } from '../../../core/sql.js';

const FIND = 'SELECT id, origin, name, hash, facts FROM documents WHERE collection = ? AND origin = ?';
const REFRESH = 'UPDATE documents SET name = ?, modified_at = ?, facts = ? WHERE id = ?';
const ADD_DOCUMENT = `${insertInto('documents', [
  ...['collection', 'origin', 'name', 'hash', 'modifiedAt', 'bytes', 'facts', 'savedAt', 'passages'],
  'readsLeft',
])} RETURNING id`;
const PASSAGE_MEMBERS = ['document', 'collection', 'start', 'end', 'lines', 'heading', 'text'];
/** The passages that one statement inserts. */
const ROWS_AT_ONCE = 20;
const DROP_DOCUMENT = 'DELETE FROM documents WHERE id = ?';
const PASSAGES_OF = 'SELECT id FROM passages WHERE document = ?';
const BEYOND_FIRST = 'SELECT id FROM passages WHERE document = ? ORDER BY id LIMIT ? OFFSET ?';
const MARK_UNFINISHED = 'UPDATE documents SET hash = ? WHERE id = ?';

/** The hash of a document whose passages are not all written yet. It equals no real hash. */
const UNFINISHED = '';
const FINISH = 'UPDATE documents SET hash = ?, reads_left = ? WHERE id = ?';
const EXISTS = 'SELECT 1 FROM documents WHERE id = ?';
/** The most passages that one transaction writes or removes, so that a long document does not block the event loop. */
export const PASSAGES_AT_ONCE = 40;

interface Found extends Omit<DocumentVersion, 'collection'> {
  readonly id: number;
}

/** A transaction that writes documents of an owner. */
export interface LibraryWrite {
  readonly dialect: Dialect;
  readonly scope: Scope;
  readonly now: number;
  /** Gets the passages that are removed, with the id of their collection. After the commit their vectors leave the memory. */
  readonly removed: (readonly [collectionId: number, passages: readonly number[]])[];
}

/** The collection that a document is written to. */
export interface Target extends LibraryWrite {
  readonly collection: CollectionRow;
}

/**
 * Call it inside a write. Adds a document to a collection, and replaces the one with the same origin. Passages beyond `atOnce`
 * are left to `addMorePassages`, with the `id` of the row; until the last is written the document counts as changed. The
 * caller removes the triples of the `replaced` documents.
 */
export function* putDocument(target: Target, document: NewDocument, atOnce: number) {
  const found = yield* findDocument(target.collection, document.origin);
  if (found?.hash === document.hash) {
    yield* run(REFRESH, document.name, document.modifiedAt, JSON.stringify(document.facts), found.id);
    return { outcome: 'unchanged', replaced: [], id: found.id, left: [] } as const;
  }
  const replaced = yield* dropDocuments(target, found ? [found] : []);
  const { passages } = document;
  const left = passages.slice(atOnce);
  const isWhole = left.length === 0;
  const row = yield* first<{ readonly id: number }>(
    ADD_DOCUMENT,
    toParameters({
      ...document,
      collection: target.collection.id,
      savedAt: target.now,
      hash: isWhole ? document.hash : UNFINISHED,
      passages: passages.length,
      readsLeft: isWhole ? MAX_EXTRACTION_ATTEMPTS : 0,
    }),
  );
  const { id } = row!;
  yield* addPassages({ ...target, document, id }, passages.slice(0, atOnce));
  return { outcome: found ? 'changed' : 'added', replaced, id, left } as const;
}

interface PlacedDocument extends Target {
  readonly document: NewDocument;
  readonly id: number;
}

/** Call it inside a write. Writes some passages and returns those that are left; none when the document was replaced meanwhile. */
export function* addMorePassages(
  placed: PlacedDocument,
  passages: readonly Passage[],
): Query<readonly Passage[]> {
  const { id, document } = placed;
  if (!(yield* first(EXISTS, id))) return [];
  yield* addPassages(placed, passages.slice(0, PASSAGES_AT_ONCE));
  const left = passages.slice(PASSAGES_AT_ONCE);
  if (left.length === 0) yield* run(FINISH, document.hash, MAX_EXTRACTION_ATTEMPTS, id);
  return left;
}

/** Call it inside a write. Removes the documents with these origins from a collection, and returns them. */
export function* removeDocuments(
  target: Target,
  origins: readonly string[],
): Query<readonly DocumentVersion[]> {
  const found: Found[] = [];
  for (const origin of origins) {
    const document = yield* findDocument(target.collection, origin);
    if (document) found.push(document);
  }
  return yield* dropDocuments(target, found);
}

/**
 * Removes some passages of a document, unless it has the given hash, and returns whether there were any. Call it inside writes
 * until there are none, before the document is replaced or removed; only its first passages are left then. From the first
 * call on the document counts as changed.
 */
export function* thinDocument(
  target: Target,
  { origin, hash }: { readonly origin: string; readonly hash?: string },
): Query<boolean> {
  const found = yield* findDocument(target.collection, origin);
  if (!found || found.hash === hash) return false;
  const ids = yield* column<number>(BEYOND_FIRST, found.id, PASSAGES_AT_ONCE, PASSAGES_AT_ONCE);
  if (ids.length === 0) return false;
  yield* run(MARK_UNFINISHED, UNFINISHED, found.id);
  yield* dropPassages(target, ids);
  return true;
}

function* dropPassages({ dialect, collection, removed }: Target, passages: readonly number[]): Query<void> {
  removed.push([collection.id, passages]);
  const ids = JSON.stringify(passages);
  yield* run(wordIndexOf(dialect).remove, ids);
  yield* run(`DELETE FROM vectors WHERE passage IN ${dialect.items('number')}`, ids);
  yield* run(`DELETE FROM passages WHERE id IN ${dialect.items('number')}`, ids);
}

function* findDocument({ id }: CollectionRow, origin: string): Query<Found | undefined> {
  const row = yield* first<Row>(FIND, id, origin);
  return row && toRecord(row, DOCUMENT_FORMAT);
}

function* dropDocuments(target: Target, found: readonly Found[]): Query<readonly DocumentVersion[]> {
  for (const { id } of found) {
    yield* dropPassages(target, yield* column<number>(PASSAGES_OF, id));
    yield* run(DROP_DOCUMENT, id);
  }
  return found.map((document) => ({ ...document, collection: target.collection.name }));
}

function* addPassages({ dialect, collection, document, id }: PlacedDocument, passages: readonly Passage[]) {
  for (let from = 0; from < passages.length; from += ROWS_AT_ONCE) {
    const some = passages.slice(from, from + ROWS_AT_ONCE);
    const rows = some.map((passage) => ({ ...passage, document: id, collection: collection.id }));
    const insert = insertRows('passages', PASSAGE_MEMBERS, rows);
    // The ids rise in the order of the rows.
    const ids = (yield* column<number>(`${insert.sql} RETURNING id`, ...insert.values)).toSorted(
      (a, b) => a - b,
    );
    const words = some.flatMap((passage, index) => {
      const terms = passageTerms({ ...document, ...passage });
      return [ids[index], indexTextOf(collection.id, terms)];
    });
    yield* run(wordIndexOf(dialect).add(some.length), ...words);
  }
}
