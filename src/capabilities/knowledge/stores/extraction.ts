import { column, first, lockOf, run, type Dialect, type SqlDatabase } from '../../../core/sql.js';
import type { Scope } from '../../../core/task.js';
import { toRecord, type Row } from '../../../stores/records.js';
import type { GraphStore, Triple } from './graph.js';
import { DOCUMENT_FORMAT, sourceOf, type CollectionFilter, type DocumentVersion } from './library.js';

/** A kept document that no triples were extracted from yet. */
export interface UnreadDocument extends Scope {
  readonly id: number;
  readonly name: string;
  /** The beginning of the text, as long as asked for. */
  readonly text: string;
}

export const MAX_EXTRACTION_ATTEMPTS = 3;

const next = ({ orderedJoin, using, items }: Dialect): string => `SELECT d.id, d.name, c.tenant, c.owner
  FROM collections c ${orderedJoin} documents d ${using('documents_unread')} ON d.collection = c.id
  WHERE d.reads_left > 0
    AND (CAST(@only AS TEXT) IS NULL OR c.name IN ${items('text', '@only')})
    AND (CAST(@except AS TEXT) IS NULL OR c.name NOT IN ${items('text', '@except')})
  ORDER BY c.id, d.id LIMIT 1`;
const PASSAGES = 'SELECT text FROM passages WHERE document = ? ORDER BY start';
const FIND = `SELECT c.name AS collection, d.origin, d.name, d.hash, d.facts
  FROM documents d JOIN collections c ON c.id = d.collection
  WHERE d.id = ? AND c.tenant = ? AND c.owner = ? AND d.reads_left > 0`;
const DONE = 'UPDATE documents SET reads_left = 0 WHERE id = ?';
const FAILED = 'UPDATE documents SET reads_left = reads_left - 1 WHERE id = ? AND reads_left > 0';

/**
 * Records which kept documents triples were extracted from. Replacing or removing a document also removes its triples.
 * A column of the documents counts the attempts left. Writes are atomic, resolve after commit and reject with code `storage`.
 */
export function createExtractionStore(database: SqlDatabase, graph: GraphStore) {
  return {
    /** The next unread document of any owner in these collections, with at most `characters` of its text. */
    async next({ only, except }: CollectionFilter, characters: number): Promise<UnreadDocument | undefined> {
      const names = { only: listed(only), except: listed(except) };
      const sql = next(database.dialect);
      const row = await database.read(() => first<Omit<UnreadDocument, 'text'>>(sql, names));
      if (!row) return undefined;
      let left = characters;
      const texts = await database.read(() => column<string>(PASSAGES, row.id));
      return { ...row, text: texts.filter(({ length }) => (left -= length) >= 0).join('\n\n') };
    },
    /**
     * In one transaction, adds the triples with this version of the document as their source and marks it read. False, with
     * nothing written, when the document was replaced or removed meanwhile.
     */
    done({ id, tenant, owner }: UnreadDocument, triples: readonly Triple[]): Promise<boolean> {
      const scope = { tenant, owner };
      return database.write(lockOf(scope), function* (now) {
        const row = yield* first<Row>(FIND, id, tenant, owner);
        if (!row) return false;
        const document = toRecord<DocumentVersion>(row, DOCUMENT_FORMAT);
        const origin = { source: sourceOf(document), fromOutside: document.facts.fromOutside };
        const stated = triples.map((triple) => ({ ...triple, ...origin }));
        yield* graph.addInTransaction(scope, stated, now);
        yield* run(DONE, id);
        return true;
      });
    },
    /** Records a failed extraction. `next` offers a document at most `MAX_EXTRACTION_ATTEMPTS` times. */
    async failed(unread: UnreadDocument): Promise<void> {
      await database.write(lockOf(unread), () => run(FAILED, unread.id));
    },
  };
}

export type ExtractionStore = ReturnType<typeof createExtractionStore>;

const listed = (names?: readonly string[]): string | null => (names ? JSON.stringify(names) : null);
