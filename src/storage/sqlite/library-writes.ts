import type { DocumentFacts, NewDocument, NewPassage } from '../../core/library.js';
import { passageTerms } from '../relevance.js';
import { writtenTerms } from './index-terms.js';
import type { Prepared } from './prepared.js';
import type { Shelf } from './shelves.js';

/** A document that was taken from its shelf, as much as others have to know of it. */
type Dropped = Pick<NewDocument, 'collection' | 'origin' | 'name' | 'hash' | 'facts'>;

/** What a write took away: vectors may be in memory, and triples in the graph. */
export interface Removed {
  readonly documents: readonly Dropped[];
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

/** Inside a write: puts the document on the shelf, in the place of the one with its origin. */
export function putDocument(
  prepared: Prepared,
  shelf: Shelf,
  document: NewDocument & { readonly savedAt: number },
): { readonly outcome: 'added' | 'changed' | 'unchanged'; readonly removed: Removed } {
  const found = prepared.first<Found>(FIND, shelf.id, document.origin);
  const facts = JSON.stringify(document.facts);
  if (found?.hash === document.hash) {
    prepared.run(REFRESH, document.name, document.modifiedAt, facts, found.id);
    return { outcome: 'unchanged', removed: dropDocuments(prepared, shelf, []) };
  }
  const removed = dropDocuments(prepared, shelf, found ? [found] : []);
  const { origin, name, hash, modifiedAt, bytes, savedAt, passages } = document;
  const { lastInsertRowid } = prepared.run(
    ADD_DOCUMENT,
    ...[shelf.id, origin, name, hash, modifiedAt, bytes, facts, savedAt, passages.length],
  );
  for (const passage of passages)
    addPassage(prepared, { shelf, document, passage, id: Number(lastInsertRowid) });
  return { outcome: found ? 'changed' : 'added', removed };
}

/** Inside a write: takes these documents from the shelf. */
export function removeDocuments(prepared: Prepared, shelf: Shelf, origins: readonly string[]): Removed {
  const found = origins.flatMap((origin) => prepared.first<Found>(FIND, shelf.id, origin) ?? []);
  return dropDocuments(prepared, shelf, found);
}

function dropDocuments(prepared: Prepared, { collection }: Shelf, found: readonly Found[]): Removed {
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

interface Placed {
  readonly shelf: Shelf;
  readonly document: NewDocument;
  readonly id: number;
  readonly passage: NewPassage;
}

function addPassage(prepared: Prepared, { shelf, document, passage, id }: Placed): void {
  const { start, end, lines, heading, text } = passage;
  const [first, last] = lines ?? [null, null];
  const { lastInsertRowid } = prepared.run(
    ADD_PASSAGE,
    ...[id, shelf.id, start, end, first, last, JSON.stringify(heading), text],
  );
  const terms = passageTerms({ ...document, ...passage });
  prepared.run(ADD_TERMS, lastInsertRowid, writtenTerms(shelf.id, terms));
}
