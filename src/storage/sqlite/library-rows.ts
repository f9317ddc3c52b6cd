import type { DocumentFacts, DocumentRecord, Hit, NewDocument } from '../../core/library.js';
import type { Prepared } from './prepared.js';

/** A document with its collection, as `DOCUMENT_COLUMNS` reads it. */
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

/** The passages with their scores, in the order given; one that is gone is left out. */
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

/** What a triple that was read in a document names as its source: the document in this version. */
export function sourceOf(
  document: Pick<NewDocument, 'collection' | 'origin' | 'name' | 'hash' | 'facts'>,
): string {
  const { collection, origin, name, hash, facts } = document;
  return facts.version === undefined
    ? `${collection} ${origin} version ${hash.slice(0, HASH_SHOWN)}`
    : `${collection} ${JSON.stringify(name)} version ${facts.version}`;
}

const HASH_SHOWN = 12;
