import { hashJson } from '../../../core/canonical-json.js';
import { all, run, type Dialect, type Query, type SqlDatabase, type Step } from '../../../core/sql.js';
import type { Scope } from '../../../core/task.js';
import type { Passage } from '../../../parsing/passages.js';
import { assertKeys, insertInto, toParameters, toRecord, type Row } from '../../../stores/records.js';
import { nameKey } from './graph.js';
import type { LibraryWrite } from '../sql/library-writes.js';
import type { LibraryStore } from './library-store.js';
import { COLLECTIONS, requireCollection, type NewDocument, type Provenance } from './library.js';

/** `knowledge` has a key, a `learning` is the fix of a problem, and a `fact`, to be remembered, is its own key. */
export type EntryKind = keyof typeof COLLECTIONS;

export interface NewEntry {
  readonly kind: EntryKind;
  /** The name, or the trigger of a learning. Saving under the same key makes a new version. */
  readonly key: string;
  readonly category: string;
  /** The text, or the fix of a learning. */
  readonly content: string;
  readonly diagnosis?: string;
  readonly tags: readonly string[];
  readonly provenance: Provenance;
  /** The idempotency key of the call: a repeat makes no second version. */
  readonly callKey: string;
  /** The passages that searches find. */
  readonly passages: readonly Passage[];
}

/** One version of an entry. */
export interface KnowledgeEntry extends Omit<NewEntry, 'callKey' | 'passages'> {
  /** Counts from 1. Searches find the highest. */
  readonly version: number;
  /** Milliseconds since the epoch. */
  readonly savedAt: number;
}

export type EntryId = Pick<NewEntry, 'kind' | 'key'>;
type EntryQuery = Readonly<{ kind: EntryKind; limit: number; after?: string }>;

const FORMAT = { json: ['tags', 'provenance'] };
const ENTRY = 'kind, key, version, category, content, diagnosis, tags, provenance, saved_at';
const OWNED = 'tenant = ? AND owner = ? AND kind = ?';
const BY_CALL = `SELECT ${ENTRY} FROM entries WHERE tenant = ? AND owner = ? AND call_key = ?`;
const ADD = insertInto('entries', [
  ...['tenant', 'owner', 'kind', 'nameKey', 'version', 'key', 'category', 'content', 'diagnosis', 'tags'],
  ...['provenance', 'callKey', 'savedAt'],
]);
const VERSIONS = `SELECT ${ENTRY} FROM entries WHERE ${OWNED} AND name_key = ? ORDER BY version DESC LIMIT ?`;
const LIST = `SELECT ${ENTRY} FROM entries e WHERE ${OWNED} AND name_key > ? AND version = (
    SELECT max(version) FROM entries
    WHERE tenant = e.tenant AND owner = e.owner AND kind = e.kind AND name_key = e.name_key
  ) ORDER BY name_key LIMIT ?`;
const NEXT = `SELECT ${ENTRY} FROM entries WHERE ${OWNED} AND (name_key, version) > (?, ?)
  ORDER BY name_key, version LIMIT 1`;
const FORGET = `DELETE FROM entries WHERE ${OWNED} AND name_key = ?`;
const inContext = (dialect: Dialect): string =>
  `tenant = ? AND owner = ? AND ${dialect.member('provenance', 'contextId')} = ?`;
/** The number of entries that one transaction removes. */
const FORGOTTEN_AT_ONCE = 20;

/**
 * An owner's knowledge, learnings and facts with all versions. Searches of the library find the newest version of each,
 * in the collections `knowledge`, `learnings` and `memory`. Keys with the same `nameKey` are the same key. Writes are
 * atomic, resolve after commit and reject with code `storage`.
 */
export class KnowledgeStore {
  readonly #database: SqlDatabase;
  readonly #library: LibraryStore;

  constructor(database: SqlDatabase, library: LibraryStore) {
    this.#database = database;
    this.#library = library;
  }

  /** Resolves with the new version, or with the version that this call made before. */
  async save(scope: Scope, entry: NewEntry): Promise<KnowledgeEntry> {
    assertKeys({ key: entry.key });
    const { tenant, owner } = scope;
    const { callKey, passages, ...rest } = entry;
    const library = this.#library;
    return library.write(scope, function* (write) {
      const [before] = yield* readEntries(BY_CALL, tenant, owner, callKey);
      if (before) return before;
      const collection = yield* requireCollection(scope, COLLECTIONS[entry.kind]);
      const [newest] = yield* readEntries(VERSIONS, ...keyOf(scope, entry), 1);
      const version = (newest?.version ?? 0) + 1;
      const saved: KnowledgeEntry = { ...rest, key: entry.key.trim(), version, savedAt: write.now };
      const keys = { tenant, owner, nameKey: nameKey(entry.key), callKey };
      yield* run(ADD, toParameters({ diagnosis: undefined, ...saved, ...keys }));
      yield* library.putInTransaction({ ...write, collection }, documentOf(saved, passages));
      return saved;
    });
  }

  /** Returns the newest version. */
  async get(scope: Scope, id: EntryId): Promise<KnowledgeEntry | undefined> {
    return (await this.versions(scope, id, 1))[0];
  }

  /** Lists the versions of an entry, the newest first. */
  async versions(scope: Scope, id: EntryId, limit: number): Promise<readonly KnowledgeEntry[]> {
    return this.#database.read(() => readEntries(VERSIONS, ...keyOf(scope, id), limit));
  }

  /** Lists the newest version of each entry, by key. `after`: the last key of the page before. */
  async list(scope: Scope, { kind, limit, after = '' }: EntryQuery) {
    return this.#database.read(() => readEntries(LIST, ...keyOf(scope, { kind, key: after }), limit));
  }

  /** Returns the version after this one, in the order of all versions of all entries by key. */
  async next(scope: Scope, id: EntryId, version: number): Promise<KnowledgeEntry | undefined> {
    return (await this.#database.read(() => readEntries(NEXT, ...keyOf(scope, id), version)))[0];
  }

  /** Removes all versions of an entry and its passages. Resolves with the number of versions. */
  async forget(scope: Scope, id: EntryId): Promise<number> {
    return this.#library.write(scope, (write) => this.#forget(write, id));
  }

  /**
   * Removes what was saved in a context: all versions of an entry whose newest version was, and single versions of others.
   * Runs in steps, so that other work is not held up; when one fails, a repeated call continues. Resolves with the number
   * of versions.
   */
  async forgetContext(scope: Scope, contextId: string): Promise<number> {
    for (let versions = 0; ;) {
      const { count, isLast } = await this.#library.write(scope, (write) =>
        this.#forgetSome(write, contextId),
      );
      versions += count;
      if (isLast) return versions;
    }
  }

  *#forgetSome(write: LibraryWrite, contextId: string): Query<Step> {
    const { dialect, scope } = write;
    const condition = inContext(dialect);
    const context = [scope.tenant, scope.owner, contextId];
    const ids = yield* all<EntryId>(
      `SELECT DISTINCT kind, name_key AS key FROM entries WHERE ${condition} LIMIT ?`,
      ...context,
      FORGOTTEN_AT_ONCE,
    );
    let count = 0;
    for (const id of ids) {
      const [newest] = yield* readEntries(VERSIONS, ...keyOf(scope, id), 1);
      if (newest?.provenance.contextId === contextId) count += yield* this.#forget(write, id);
      else {
        const sql = `DELETE FROM entries WHERE ${condition} AND kind = ? AND name_key = ?`;
        count += yield* run(sql, ...context, id.kind, id.key);
      }
    }
    return { count, isLast: ids.length < FORGOTTEN_AT_ONCE };
  }

  *#forget(write: LibraryWrite, id: EntryId): Query<number> {
    const versions = yield* run(FORGET, ...keyOf(write.scope, id));
    yield* this.#library.removeInTransaction(write, COLLECTIONS[id.kind], [originOf(id)]);
    return versions;
  }
}

function* readEntries(sql: string, ...values: readonly unknown[]): Query<readonly KnowledgeEntry[]> {
  return (yield* all<Row>(sql, ...values)).map((row) => toRecord(row, FORMAT));
}

function keyOf({ tenant, owner }: Scope, { kind, key }: EntryId): readonly string[] {
  return [tenant, owner, kind, nameKey(key)];
}

const originOf = ({ kind, key }: EntryId): string => `${kind}:${nameKey(key)}`;

function documentOf(saved: KnowledgeEntry, passages: readonly Passage[]): NewDocument {
  const { kind, key, version, category, content, diagnosis, tags, provenance } = saved;
  return {
    collection: COLLECTIONS[kind],
    origin: originOf(saved),
    name: key,
    // The hash covers the facts, so that a new version with the same text is a changed document.
    hash: hashJson([version, category, content, diagnosis, tags]),
    modifiedAt: 0,
    bytes: Buffer.byteLength(content),
    facts: { ...provenance, category, tags, version, diagnosis },
    passages,
  };
}
