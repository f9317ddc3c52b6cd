import type { DocumentFacts, NewDocument, NewPassage } from '../../stores/library.js';
import { passageTerms } from '../relevance.js';
import type { CollectionRow } from './library-rows.js';
import type { Prepared } from './prepared.js';
import { indexTextOf } from './text-search.js';

/** A removed document, with what the knowledge graph must know of it. */
type RemovedDocument = Pick<NewDocument, 'collection' | 'origin' | 'name' | 'hash' | 'facts'>;

/** What a write removed. The caller removes the vectors from memory and the triples from the graph. */
export interface Removed {
  readonly documents: readonly RemovedDocument[];
  readonly passages: readonly number[];
}

const FIND = 'SELECT id, origin, name, hash, facts FROM documents WHERE shelf = ? AND origin = ?';
const REFRESH = 'UPDATE documents SET name = ?, modified_at = ?, facts = ? WHERE id = ?';
const ADD_DOCUMENT = `INSERT INTO documents (shelf, origin, name, hash, modified_at, bytes, facts, saved_at, passages)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const ADD_PASSAGE = `INSERT INTO passages (document, shelf, start, end, first_line, last_line, heading, text)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;
const ADD_TERMS = 'INSERT INTO passage_words (rowid, terms) VALUES (?, ?)';
const DROP_DOCUMENT = 'DELETE FROM documents WHERE id = ?';
const DROP_PASSAGES = 'DELETE FROM passages WHERE document = ? RETURNING id';
const DROP_WORDS = 'DELETE FROM passage_words WHERE rowid = ?';
const DROP_VECTOR = 'DELETE FROM vectors WHERE passage = ?';

interface Found {
  readonly id: number;
  readonly origin: string;
  readonly name: string;
  readonly hash: string;
  readonly facts: string;
}

/** To be called inside a write. Adds a document to a collection, and replaces the one with the same origin. */
export function putDocument(
  prepared: Prepared,
  collection: CollectionRow,
  document: NewDocument & { readonly savedAt: number },
): { readonly outcome: 'added' | 'changed' | 'unchanged'; readonly removed: Removed } {
  const found = prepared.first<Found>(FIND, collection.id, document.origin);
  const facts = JSON.stringify(document.facts);
  if (found?.hash === document.hash) {
    prepared.run(REFRESH, document.name, document.modifiedAt, facts, found.id);
    return { outcome: 'unchanged', removed: dropDocuments(prepared, collection, []) };
  }
  const removed = dropDocuments(prepared, collection, found ? [found] : []);
  const { origin, name, hash, modifiedAt, bytes, savedAt, passages } = document;
  const { lastInsertRowid } = prepared.run(
    ADD_DOCUMENT,
    ...[collection.id, origin, name, hash, modifiedAt, bytes, facts, savedAt, passages.length],
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
  const found = origins.flatMap((origin) => prepared.first<Found>(FIND, collection.id, origin) ?? []);
  return dropDocuments(prepared, collection, found);
}

function dropDocuments(prepared: Prepared, { collection }: CollectionRow, found: readonly Found[]): Removed {
  return {
    passages: found.flatMap(({ id }) => dropDocument(prepared, id)),
    documents: found.map(({ origin, name, hash, facts }) => ({
      ...{ collection, origin, name, hash },
      facts: JSON.parse(facts) as DocumentFacts,
    })),
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
  const { start, end, lines, heading, text } = passage;
  const [first, last] = lines ?? [null, null];
  const { lastInsertRowid } = prepared.run(
    ADD_PASSAGE,
    ...[id, collection.id, start, end, first, last, JSON.stringify(heading), text],
  );
  const terms = passageTerms({ ...document, ...passage });
  prepared.run(ADD_TERMS, lastInsertRowid, indexTextOf(collection.id, terms));
}
