import { hashJson } from '../../core/json.js';
import type {
  Entry,
  EntryId,
  EntryKind,
  EntryQuery,
  HistoryQuery,
  KnowledgeStore,
  NewEntry,
} from '../../stores/knowledge.js';
import { nameKey } from '../../core/text.js';
import type { NewDocument, Provenance } from '../../stores/library.js';
import { KNOWLEDGE_COLLECTION, LEARNINGS_COLLECTION, MEMORY_COLLECTION } from '../../stores/library.js';
import type { Scope } from '../../core/task.js';
import { assertKeys } from '../rows.js';
import type { SqliteDatabase } from './database.js';
import type { SqliteLibraryStore } from './library.js';
import type { Prepared } from './prepared.js';

const COLLECTIONS: Readonly<Record<EntryKind, string>> = {
  knowledge: KNOWLEDGE_COLLECTION,
  learning: LEARNINGS_COLLECTION,
  fact: MEMORY_COLLECTION,
};

const OWNED = 'tenant = ? AND owner = ? AND kind = ?';
const BY_CALL = 'SELECT * FROM entries WHERE tenant = ? AND owner = ? AND call = ?';
const ADD = 'INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)';
const VERSIONS = `SELECT * FROM entries WHERE ${OWNED} AND key = ? ORDER BY version DESC LIMIT ?`;
const VERSION = `SELECT * FROM entries WHERE ${OWNED} AND key = ? AND version = ?`;
const LIST = `SELECT * FROM entries e WHERE ${OWNED} AND key > ? AND version = (
    SELECT max(version) FROM entries WHERE tenant = e.tenant AND owner = e.owner AND kind = e.kind AND key = e.key
  ) ORDER BY key LIMIT ?`;
const HISTORY = `SELECT * FROM entries WHERE ${OWNED} AND (key, version) > (?, ?) ORDER BY key, version LIMIT ?`;
const FORGET = `DELETE FROM entries WHERE ${OWNED} AND key = ?`;
const IN_CONTEXT = "tenant = ? AND owner = ? AND provenance ->> '$.contextId' = ?";
const SAVED_IN_CONTEXT = `SELECT DISTINCT kind, key FROM entries WHERE ${IN_CONTEXT} LIMIT ?`;
/** The number of entries that one transaction removes. */
const FORGOTTEN_AT_ONCE = 20;
const FORGET_VERSIONS = `DELETE FROM entries WHERE ${IN_CONTEXT} AND kind = ? AND key = ?`;

interface EntryRow {
  readonly kind: EntryKind;
  readonly key: string;
  readonly version: number;
  readonly name: string;
  readonly category: string;
  readonly content: string;
  readonly diagnosis: string | null;
  readonly tags: string;
  readonly provenance: string;
  readonly saved_at: number;
}

/** Stores every version of an entry in a table. The newest version is also a document of the library, to be found. */
export class SqliteKnowledgeStore implements KnowledgeStore {
  readonly #database: SqliteDatabase;
  readonly #library: SqliteLibraryStore;
  readonly #prepared: Prepared;

  constructor(database: SqliteDatabase, library: SqliteLibraryStore) {
    this.#database = database;
    this.#library = library;
    this.#prepared = database.prepared;
  }

  async save(scope: Scope, entry: NewEntry): Promise<Entry> {
    assertKeys({ key: entry.key });
    const { saved, placed } = await this.#database.write(() => {
      const before = this.#prepared.first<EntryRow>(BY_CALL, scope.tenant, scope.owner, entry.callKey);
      if (before) return { saved: toEntry(before), placed: undefined };
      const row = this.#library.requireInTransaction(scope, COLLECTIONS[entry.kind]);
      const saved = this.#add(scope, entry);
      return { saved, placed: this.#library.putInTransaction(scope, row, documentOf(entry, saved)) };
    });
    if (placed) this.#library.forgetVectors(placed.row.id, placed.passages);
    return saved;
  }

  async get(scope: Scope, id: EntryId, version?: number): Promise<Entry | undefined> {
    if (version === undefined) return (await this.versions(scope, id, 1))[0];
    return this.#database.read(() => {
      const row = this.#prepared.first<EntryRow>(VERSION, ...keyOf(scope, id), version);
      return row && toEntry(row);
    });
  }

  async versions(scope: Scope, id: EntryId, limit: number): Promise<readonly Entry[]> {
    return this.#database.read(() =>
      this.#prepared.all<EntryRow>(VERSIONS, ...keyOf(scope, id), limit).map(toEntry),
    );
  }

  async list(scope: Scope, { kind, limit, after = '' }: EntryQuery): Promise<readonly Entry[]> {
    return this.#database.read(() =>
      this.#prepared.all<EntryRow>(LIST, ...keyOf(scope, { kind, key: after }), limit).map(toEntry),
    );
  }

  async history(scope: Scope, kind: EntryKind, { limit, after }: HistoryQuery): Promise<readonly Entry[]> {
    const { key, version } = after ?? { key: '', version: 0 };
    return this.#database.read(() =>
      this.#prepared.all<EntryRow>(HISTORY, ...keyOf(scope, { kind, key }), version, limit).map(toEntry),
    );
  }

  async forget(scope: Scope, id: EntryId): Promise<number> {
    const { count, gone } = await this.#database.write(() => this.#forgetInTransaction(scope, id));
    if (gone) this.#library.forgetVectors(gone.row.id, gone.passages);
    return count;
  }

  async forgetContext(scope: Scope, contextId: string): Promise<number> {
    const context = [scope.tenant, scope.owner, contextId];
    for (let versions = 0; ;) {
      const forgotten = await this.#database.write(() =>
        this.#prepared.all<EntryId>(SAVED_IN_CONTEXT, ...context, FORGOTTEN_AT_ONCE).map((id) => {
          const [newest] = this.#prepared.all<EntryRow>(VERSIONS, ...keyOf(scope, id), 1);
          const isNewest = newest && toEntry(newest).provenance.contextId === contextId;
          if (isNewest) return this.#forgetInTransaction(scope, id);
          const { changes } = this.#prepared.run(FORGET_VERSIONS, ...context, id.kind, id.key);
          return { count: changes, gone: undefined };
        }),
      );
      for (const { gone } of forgotten) if (gone) this.#library.forgetVectors(gone.row.id, gone.passages);
      versions += forgotten.reduce((sum, { count }) => sum + count, 0);
      if (forgotten.length < FORGOTTEN_AT_ONCE) return versions;
    }
  }

  #forgetInTransaction(scope: Scope, id: EntryId) {
    return {
      count: this.#prepared.run(FORGET, ...keyOf(scope, id)).changes,
      gone: this.#library.removeInTransaction(scope, COLLECTIONS[id.kind], [originOf(id)]),
    };
  }

  #add(scope: Scope, entry: NewEntry): Entry {
    const { category, content, diagnosis, tags, provenance, callKey } = entry;
    const [newest] = this.#prepared.all<EntryRow>(VERSIONS, ...keyOf(scope, entry), 1);
    const version = (newest?.version ?? 0) + 1;
    const savedAt = this.#database.now();
    this.#prepared.run(
      ADD,
      ...[...keyOf(scope, entry), version, entry.key.trim(), category, content, diagnosis ?? null],
      ...[JSON.stringify(tags), JSON.stringify(provenance), callKey, savedAt],
    );
    const { callKey: _call, passages: _passages, ...rest } = entry;
    return { ...rest, key: entry.key.trim(), version, savedAt };
  }
}

function keyOf({ tenant, owner }: Scope, { kind, key }: EntryId): readonly string[] {
  return [tenant, owner, kind, nameKey(key)];
}

function originOf({ kind, key }: EntryId): string {
  return `${kind}:${nameKey(key)}`;
}

function documentOf({ passages }: NewEntry, saved: Entry): NewDocument {
  const { kind, key, version, category, content, diagnosis, tags, provenance } = saved;
  return {
    collection: COLLECTIONS[kind],
    origin: originOf(saved),
    name: key,
    // The hash covers the facts, so that a new version with the same text is a changed document.
    hash: hashJson([version, category, content, diagnosis, tags]),
    modifiedAt: 0,
    bytes: Buffer.byteLength(content),
    facts: { ...provenance, category, tags, version, ...(diagnosis === undefined ? {} : { diagnosis }) },
    passages,
  };
}

function toEntry(row: EntryRow): Entry {
  const { kind, name, version, category, content, diagnosis, saved_at: savedAt } = row;
  return {
    kind,
    key: name,
    version,
    category,
    content,
    ...(diagnosis === null ? {} : { diagnosis }),
    tags: JSON.parse(row.tags) as string[],
    provenance: JSON.parse(row.provenance) as Provenance,
    savedAt,
  };
}
