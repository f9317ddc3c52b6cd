import { MAX_EXTRACTION_ATTEMPTS } from '../../stores/graph.js';
import type { NewDocument, NewPassage } from '../../stores/library.js';
import type { Row } from '../records.js';
import { insertInto, toParameters, toRecord } from '../records.js';
import { passageTerms } from '../relevance.js';
import type { CollectionRow, DocumentVersion } from './library-rows.js';
import { DOCUMENT_FORMAT } from './library-rows.js';
import type { Prepared } from './prepared.js';
import { indexTextOf } from './text-search.js';

/** What a write removed. The caller removes the vectors from memory and the triples from the graph. */
export interface Removed {
  readonly documents: readonly DocumentVersion[];
  readonly passages: readonly number[];
}

const FIND = 'SELECT id, origin, name, hash, facts FROM documents WHERE collection = ? AND origin = ?';
const REFRESH = 'UPDATE documents SET name = ?, modified_at = ?, facts = ? WHERE id = ?';
const ADD_DOCUMENT = insertInto('documents', [
  ...[
    'collection',
    'origin',
    'name',
    'hash',
    'modifiedAt',
    'bytes',
    'facts',
    'savedAt',
    'passages',
    'readsLeft',
  ],
]);
const ADD_PASSAGE = insertInto('passages', [
  ...['document', 'collection', 'start', 'end', 'lines', 'heading', 'text'],
]);
const ADD_TERMS = 'INSERT INTO passage_words (rowid, terms) VALUES (?, ?)';
const DROP_DOCUMENT = 'DELETE FROM documents WHERE id = ?';
const PASSAGES_OF = 'SELECT id FROM passages WHERE document = ?';
const BEYOND_FIRST = 'SELECT id FROM passages WHERE document = ? ORDER BY id LIMIT ? OFFSET ?';
const DROP_PASSAGE = 'DELETE FROM passages WHERE id = ?';
const MARK_UNFINISHED = 'UPDATE documents SET hash = ? WHERE id = ?';
const DROP_WORDS = 'DELETE FROM passage_words WHERE rowid = ?';
const DROP_VECTOR = 'DELETE FROM vectors WHERE passage = ?';

/** Stands for the hash of a document whose passages are not all written: it equals no other. */
const UNFINISHED = '';
const FINISH = 'UPDATE documents SET hash = ?, reads_left = ? WHERE id = ?';
const EXISTS = 'SELECT 1 FROM documents WHERE id = ?';
/** The passages that one transaction writes or removes: a long document would hold the event loop. */
export const PASSAGES_AT_ONCE = 40;

interface Found extends Omit<DocumentVersion, 'collection'> {
  readonly id: number;
}

export interface WholeDocument extends NewDocument {
  /** The passages to write in this transaction. Default: all. */
  readonly atOnce?: number;
}

interface PutDocument {
  readonly outcome: 'added' | 'changed' | 'unchanged';
  readonly removed: Removed;
  /** The row of the document, for the passages that are left. */
  readonly id: number;
  readonly left: readonly NewPassage[];
}

/**
 * To be called inside a write. Adds a document to a collection, and replaces the one with the same origin. Passages
 * beyond `atOnce` are left to `addMorePassages`; until the last of them is written the document counts as changed.
 */
export function putDocument(
  prepared: Prepared,
  collection: CollectionRow,
  { atOnce = Infinity, ...document }: WholeDocument & { readonly savedAt: number },
): PutDocument {
  const found = findDocument(prepared, collection, document.origin);
  if (found?.hash === document.hash) {
    prepared.run(REFRESH, document.name, document.modifiedAt, JSON.stringify(document.facts), found.id);
    return { outcome: 'unchanged', removed: dropDocuments(prepared, collection, []), id: found.id, left: [] };
  }
  const removed = dropDocuments(prepared, collection, found ? [found] : []);
  const { passages } = document;
  const left = passages.slice(atOnce);
  const isWhole = left.length === 0;
  const { lastInsertRowid } = prepared.run(
    ADD_DOCUMENT,
    toParameters({
      ...document,
      collection: collection.id,
      hash: isWhole ? document.hash : UNFINISHED,
      passages: passages.length,
      readsLeft: isWhole ? MAX_EXTRACTION_ATTEMPTS : 0,
    }),
  );
  const id = Number(lastInsertRowid);
  for (const passage of passages.slice(0, atOnce))
    addPassage(prepared, { collection, document, passage, id });
  return { outcome: found ? 'changed' : 'added', removed, id, left };
}

/** To be called inside a write. Returns the passages that are left then; none when the document was replaced meanwhile. */
export function addMorePassages(
  prepared: Prepared,
  { collection, document, id }: Omit<PlacedPassage, 'passage'>,
  passages: readonly NewPassage[],
): readonly NewPassage[] {
  if (!prepared.first(EXISTS, id)) return [];
  for (const passage of passages.slice(0, PASSAGES_AT_ONCE))
    addPassage(prepared, { collection, document, passage, id });
  const left = passages.slice(PASSAGES_AT_ONCE);
  if (left.length === 0) prepared.run(FINISH, document.hash, MAX_EXTRACTION_ATTEMPTS, id);
  return left;
}

/** To be called inside a write. Removes the documents with these origins from a collection. */
export function removeDocuments(
  prepared: Prepared,
  collection: CollectionRow,
  origins: readonly string[],
): Removed {
  const found = origins.flatMap((origin) => findDocument(prepared, collection, origin) ?? []);
  return dropDocuments(prepared, collection, found);
}

/**
 * To be called inside a write, again and again before a document is replaced or removed, until it returns nothing.
 * Removes some of its passages, all but the first ones in the end, unless it has the given hash. From then on the
 * document counts as changed. Returns the ids of the passages.
 */
export function thinDocument(
  prepared: Prepared,
  collection: CollectionRow,
  { origin, hash }: { readonly origin: string; readonly hash?: string },
): readonly number[] {
  const found = findDocument(prepared, collection, origin);
  if (!found || found.hash === hash) return [];
  const ids = prepared
    .all<{ readonly id: number }>(BEYOND_FIRST, found.id, PASSAGES_AT_ONCE, PASSAGES_AT_ONCE)
    .map(({ id }) => id);
  if (ids.length > 0) prepared.run(MARK_UNFINISHED, UNFINISHED, found.id);
  for (const id of ids) dropPassage(prepared, id);
  return ids;
}

function dropPassage(prepared: Prepared, id: number): void {
  prepared.run(DROP_WORDS, id);
  prepared.run(DROP_VECTOR, id);
  prepared.run(DROP_PASSAGE, id);
}

function findDocument(prepared: Prepared, { id }: CollectionRow, origin: string): Found | undefined {
  const row = prepared.first<Row>(FIND, id, origin);
  return row && toRecord(row, DOCUMENT_FORMAT);
}

function dropDocuments(prepared: Prepared, { name }: CollectionRow, found: readonly Found[]): Removed {
  return {
    passages: found.flatMap(({ id }) => dropDocument(prepared, id)),
    documents: found.map((document) => ({ ...document, collection: name })),
  };
}

function dropDocument(prepared: Prepared, id: number): readonly number[] {
  const passages = prepared.all<{ readonly id: number }>(PASSAGES_OF, id).map((row) => row.id);
  for (const passage of passages) dropPassage(prepared, passage);
  prepared.run(DROP_DOCUMENT, id);
  return passages;
}

interface PlacedPassage {
  readonly collection: CollectionRow;
  readonly document: NewDocument;
  readonly id: number;
  readonly passage: NewPassage;
}

function addPassage(prepared: Prepared, { collection, document, passage, id }: PlacedPassage): void {
  const { lastInsertRowid } = prepared.run(
    ADD_PASSAGE,
    toParameters({ ...passage, document: id, collection: collection.id }),
  );
  const terms = passageTerms({ ...document, ...passage });
  prepared.run(ADD_TERMS, lastInsertRowid, indexTextOf(collection.id, terms));
}
