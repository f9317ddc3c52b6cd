import { LangoError } from '../../core/errors.js';
import type {
  CollectionFilter,
  DocumentFacts,
  DocumentRecord,
  Hit,
  NewDocument,
} from '../../stores/library.js';
import type { Scope } from '../../core/task.js';
import { assertKeys } from '../rows.js';
import type { Prepared } from './prepared.js';

/** A document with the name of its collection. */
export interface DocumentRow {
  readonly id: number;
  readonly collection: string;
  readonly origin: string;
  readonly name: string;
  readonly hash: string;
  readonly modified_at: number;
  readonly bytes: number;
  readonly facts: string;
  readonly saved_at: number;
  readonly passages: number;
}

interface HitRow {
  readonly id: number;
  readonly start: number;
  readonly end: number;
  readonly first_line: number | null;
  readonly last_line: number | null;
  readonly heading: string;
  readonly text: string;
  readonly collection: string;
  readonly origin: string;
  readonly name: string;
  readonly facts: string;
  readonly saved_at: number;
}

const HITS = `
  SELECT p.id, p.start, p.end, p.first_line, p.last_line, p.heading, p.text,
    s.collection, d.origin, d.name, d.facts, d.saved_at
  FROM passages p JOIN documents d ON d.id = p.document JOIN shelves s ON s.id = p.shelf
  WHERE p.id IN (SELECT value FROM json_each(?))`;

export function toDocumentRecord(row: DocumentRow): DocumentRecord {
  return {
    collection: row.collection,
    origin: row.origin,
    name: row.name,
    hash: row.hash,
    modifiedAt: row.modified_at,
    bytes: row.bytes,
    facts: JSON.parse(row.facts) as DocumentFacts,
    savedAt: row.saved_at,
    passages: row.passages,
  };
}

/** The passages with their scores, in the given order. Passages that were removed meanwhile are left out. */
export function readHits(prepared: Prepared, found: ReadonlyMap<number, number>): readonly Hit[] {
  const rows = prepared.all<HitRow>(HITS, JSON.stringify([...found.keys()]));
  const byId = new Map(rows.map((row) => [row.id, row]));
  return [...found].flatMap(([id, score]) => {
    const row = byId.get(id);
    return row ? [toHit(row, score)] : [];
  });
}

function toHit({ first_line, last_line, ...row }: HitRow, score: number): Hit {
  const { saved_at: savedAt, ...rest } = row;
  return {
    ...rest,
    lines: first_line === null || last_line === null ? undefined : [first_line, last_line],
    heading: JSON.parse(row.heading) as string[],
    facts: JSON.parse(row.facts) as DocumentFacts,
    savedAt,
    score,
  };
}

/** The source of triples extracted from a document: it names the document and its version. */
export function sourceOf(
  document: Pick<NewDocument, 'collection' | 'origin' | 'name' | 'hash' | 'facts'>,
): string {
  const { collection, origin, name, hash, facts } = document;
  return facts.version === undefined
    ? `${collection} ${origin} version ${hash.slice(0, SHOWN_HASH_CHARACTERS)}`
    : `${collection} ${JSON.stringify(name)} version ${facts.version}`;
}

const SHOWN_HASH_CHARACTERS = 12;

/** One collection of one owner: a row of the table `shelves`. */
export interface CollectionRow {
  readonly id: number;
  readonly collection: string;
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

const COLLECTIONS = `SELECT id, collection, model, dimension, documents, passages, embedded FROM shelves
  WHERE tenant = ? AND owner = ? ORDER BY id`;
const ADD_COLLECTION = 'INSERT INTO shelves (tenant, owner, collection) VALUES (?, ?, ?)';

/** The collections of an owner that pass the filter. */
export function findCollections(
  prepared: Prepared,
  scope: Scope,
  { only, except }: CollectionFilter,
): readonly CollectionRow[] {
  return prepared
    .all<CollectionRow>(COLLECTIONS, scope.tenant, scope.owner)
    .filter(({ collection }) => (only?.includes(collection) ?? true) && !except?.includes(collection));
}

/** Returns a collection, and creates it if it does not exist. Throws `too-many` if the owner has too many already. */
export function requireCollection(prepared: Prepared, scope: Scope, collection: string): CollectionRow {
  const all = findCollections(prepared, scope, {});
  const known = all.find((row) => row.collection === collection);
  if (known) return known;
  if (all.length >= MAX_COLLECTIONS) {
    throw new LangoError(
      'too-many',
      `There are ${MAX_COLLECTIONS} collections already, which is the limit.`,
      {
        hint: 'Use one of them, or remove one.',
      },
    );
  }
  assertKeys({ tenant: scope.tenant, owner: scope.owner, collection });
  const { lastInsertRowid } = prepared.run(ADD_COLLECTION, scope.tenant, scope.owner, collection);
  const empty = { model: '', dimension: 0, documents: 0, passages: 0, embedded: 0 };
  return { id: Number(lastInsertRowid), collection, ...empty };
}
