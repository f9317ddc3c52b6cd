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
const DROP_PASSAGES = 'DELETE FROM passages WHERE document = ? RETURNING id';
const DROP_WORDS = 'DELETE FROM passage_words WHERE rowid = ?';
const DROP_VECTOR = 'DELETE FROM vectors WHERE passage = ?';

interface Found extends Omit<DocumentVersion, 'collection'> {
  readonly id: number;
}

/** To be called inside a write. Adds a document to a collection, and replaces the one with the same origin. */
export function putDocument(
  prepared: Prepared,
  collection: CollectionRow,
  document: NewDocument & { readonly savedAt: number },
): { readonly outcome: 'added' | 'changed' | 'unchanged'; readonly removed: Removed } {
  const found = findDocument(prepared, collection, document.origin);
  if (found?.hash === document.hash) {
    prepared.run(REFRESH, document.name, document.modifiedAt, JSON.stringify(document.facts), found.id);
    return { outcome: 'unchanged', removed: dropDocuments(prepared, collection, []) };
  }
  const removed = dropDocuments(prepared, collection, found ? [found] : []);
  const { passages } = document;
  const { lastInsertRowid } = prepared.run(
    ADD_DOCUMENT,
    toParameters({
      ...document,
      collection: collection.id,
      passages: passages.length,
      readsLeft: MAX_EXTRACTION_ATTEMPTS,
    }),
  );
  for (const passage of passages)
    addPassage(prepared, { collection, document, passage, id: Number(lastInsertRowid) });
  return { outcome: found ? 'changed' : 'added', removed };
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
  const passages = prepared.all<{ readonly id: number }>(DROP_PASSAGES, id).map((row) => row.id);
  for (const passage of passages) {
    prepared.run(DROP_WORDS, passage);
    prepared.run(DROP_VECTOR, passage);
  }
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
