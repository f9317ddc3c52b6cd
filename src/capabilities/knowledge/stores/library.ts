import { LangoError } from '../../../core/errors.js';
import { all, column, type Dialect, type Query } from '../../../core/sql.js';
import type { Scope } from '../../../core/task.js';
import type { Passage } from '../../../parsing/passages.js';
import { assertKeys, toRecord, type Row } from '../../../stores/records.js';

/** The origin of kept text. */
export interface Provenance {
  /** An address, a file or a person, as named by the author. */
  readonly source?: string;
  /** Whether the text comes from outside: a document, a page, another agent. */
  readonly fromOutside: boolean;
  /** The task that saved the text; absent for an ingested document. */
  readonly taskId?: string;
  readonly contextId?: string;
}

/** The metadata of a document. */
interface DocumentFacts extends Provenance {
  readonly category?: string;
  readonly tags?: readonly string[];
  /** The version of a kept entry. */
  readonly version?: number;
  /** The problem that a learning is about. */
  readonly diagnosis?: string;
}

export interface NewDocument {
  /** A group of documents, such as those of a project. */
  readonly collection: string;
  /** Identifies the document in its collection: the address of a file, the key of an entry. */
  readonly origin: string;
  /** The name in citations. */
  readonly name: string;
  /** The hash of the content: equal hashes are equal documents. */
  readonly hash: string;
  /** The time of the file in milliseconds since the epoch; 0 without a file. */
  readonly modifiedAt: number;
  readonly bytes: number;
  readonly facts: DocumentFacts;
  readonly passages: readonly Passage[];
}

export interface DocumentRecord extends Omit<NewDocument, 'passages'> {
  readonly savedAt: number;
  /** The number of passages. */
  readonly passages: number;
}

/** A passage that a search found. */
export interface Hit extends Passage {
  /** Identifies the passage in all searches. */
  readonly id: number;
  readonly collection: string;
  readonly origin: string;
  readonly name: string;
  readonly facts: DocumentFacts;
  readonly savedAt: number;
  /** Higher is better. Comparable within one search only. */
  readonly score: number;
}

/** Selects collections: only these, or all except these. */
export interface CollectionFilter {
  readonly only?: readonly string[];
  readonly except?: readonly string[];
}

export interface TextQuery extends CollectionFilter {
  /** Words of a person. There is no query syntax, so any text is valid. */
  readonly text: string;
  readonly limit: number;
}

export interface VectorQuery extends CollectionFilter {
  readonly vector: Float32Array;
  /** Searches only vectors of this model. */
  readonly model: string;
  readonly limit: number;
}

/** The collections that agents write, by the kind of their entries; documents cannot be ingested into them. */
export const COLLECTIONS = { knowledge: 'knowledge', learning: 'learnings', fact: 'memory' } as const;
export const AGENT_COLLECTIONS: readonly string[] = Object.values(COLLECTIONS);
export const DEFAULT_COLLECTION = 'documents';

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

const LIST_COLLECTIONS = `SELECT id, name, model, dimension, documents, passages, embedded FROM collections
  WHERE tenant = ? AND owner = ? ORDER BY id`;
const ADD_COLLECTION = 'INSERT INTO collections (tenant, owner, name) VALUES (?, ?, ?) RETURNING id';

/** Finds the collections of an owner that pass the filter. */
export function* findCollections(
  scope: Scope,
  { only, except }: CollectionFilter,
): Query<readonly CollectionRow[]> {
  const rows = yield* all<CollectionRow>(LIST_COLLECTIONS, scope.tenant, scope.owner);
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
  const [id] = yield* column<number>(ADD_COLLECTION, scope.tenant, scope.owner, name);
  return { id: id!, name, model: '', dimension: 0, documents: 0, passages: 0, embedded: 0 };
}
