import { LangoError } from '../../../core/errors.js';
import { scopeKey, type Scope } from '../../../core/task.js';
import type { VaultItem, VaultKind } from '../../../core/vault.js';
import { assertKeys, toRecord, type Row } from '../../../stores/records.js';
import { all, column, first, run, toPostgres } from '../../../core/sql.js';
import type { Query, SqlDatabase, TableMigrations } from '../../../core/sql.js';

/** The source of the master key, and the key's fingerprint. */
export interface MasterRecord {
  /** The fingerprint: 32 hex digits that reveal nothing about the key. */
  readonly id: string;
  readonly source: MasterSource;
}

export type MasterSource =
  | { readonly kind: 'file' }
  /** scrypt (RFC 7914) over the passphrase; `salt` in base64url, `cost` is N. */
  | { readonly kind: 'passphrase'; readonly salt: string; readonly cost: number };

interface ScopedKey extends Scope {
  readonly wrapped: Uint8Array;
}

export interface SealedEntry extends VaultItem {
  readonly sealed: Uint8Array;
}

export type NewSealedEntry = Omit<SealedEntry, 'createdAt' | 'updatedAt'>;

/**
 * The vault. Values and keys are stored encrypted only; see docs/guides/use-secrets.md.
 * `slot` is the type of the only slot: an INTEGER key would become an identity in PostgreSQL.
 */
const tables = (slot: string): string => `
  CREATE TABLE IF NOT EXISTS vault_master (
    slot ${slot} PRIMARY KEY CHECK (slot = 1),
    id TEXT NOT NULL,
    source TEXT NOT NULL
  ) STRICT;

  CREATE TABLE IF NOT EXISTS vault_keys (
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    wrapped BLOB NOT NULL,
    PRIMARY KEY (tenant, owner)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE IF NOT EXISTS vault_entries (
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    sealed BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, owner, kind, name)
  ) STRICT, WITHOUT ROWID;
`;

export const VAULT_TABLES: TableMigrations = {
  sqlite: [tables('INTEGER')],
  postgres: [toPostgres(tables('INT'))],
};

const FORMAT = { json: ['metadata', 'source'] };

const OWNED = 'WHERE tenant = ? AND owner = ?';
const COLUMNS = 'kind, name, version, metadata, sealed, created_at, updated_at';

const SQL = {
  master: 'SELECT id, source FROM vault_master',
  insertMaster: 'INSERT INTO vault_master VALUES (1, ?, ?)',
  updateMaster: 'UPDATE vault_master SET id = ?, source = ?',
  dataKey: `SELECT wrapped FROM vault_keys ${OWNED}`,
  dataKeys: 'SELECT tenant, owner, wrapped FROM vault_keys',
  insertDataKey: 'INSERT INTO vault_keys VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  updateDataKey: `UPDATE vault_keys SET wrapped = ? ${OWNED}`,
  entry: `SELECT ${COLUMNS} FROM vault_entries ${OWNED} AND kind = ? AND name = ?`,
  entries: `SELECT ${COLUMNS} FROM vault_entries ${OWNED} AND kind = ? ORDER BY name`,
  scopes: 'SELECT DISTINCT tenant, owner FROM vault_entries WHERE kind = ?',
  count: `SELECT count(*) FROM vault_entries ${OWNED} AND kind = ?`,
  put: `INSERT INTO vault_entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (tenant, owner, kind, name) DO UPDATE SET version = excluded.version, metadata = excluded.metadata,
      sealed = excluded.sealed, updated_at = excluded.updated_at`,
  remove: `DELETE FROM vault_entries ${OWNED} AND kind = ? AND name = ?`,
} as const;

/** One lock for all writes to the vault, because a rotation changes the keys of all owners. */
const LOCK = 'vault';

/** The encrypted data of the vault. None of it is readable without the master key. */
export class VaultStore {
  readonly #database: SqlDatabase;

  constructor(database: SqlDatabase) {
    this.#database = database;
  }

  master(): Promise<MasterRecord | undefined> {
    return this.#database.read(readMaster);
  }

  /** Rejects with `conflict` when there is a master record. */
  createMaster({ id, source }: MasterRecord): Promise<void> {
    return this.#database.write(LOCK, function* () {
      if (yield* readMaster()) {
        const problem = 'The vault has a master key already: another process created it.';
        throw new LangoError('conflict', problem, { hint: 'Try again.' });
      }
      yield* run(SQL.insertMaster, id, JSON.stringify(source));
    });
  }

  async dataKey({ tenant, owner }: Scope): Promise<Uint8Array | undefined> {
    return (await this.#database.read(() => column<Buffer>(SQL.dataKey, tenant, owner)))[0];
  }

  dataKeys(): Promise<readonly ScopedKey[]> {
    return this.#database.read(() => all<ScopedKey>(SQL.dataKeys));
  }

  /** Stores the first data key of a scope, and resolves with the stored key. */
  async addDataKey({ tenant, owner, wrapped }: ScopedKey): Promise<Uint8Array> {
    assertKeys({ tenant, owner });
    return this.#database.write(LOCK, function* () {
      yield* run(SQL.insertDataKey, tenant, owner, wrapped);
      return (yield* column<Buffer>(SQL.dataKey, tenant, owner))[0]!;
    });
  }

  /** Replaces the master and all data keys in one transaction; `conflict` when `from` is not the current one or a scope lacks. */
  rotate(from: string, to: MasterRecord, keys: readonly ScopedKey[]): Promise<void> {
    return this.#database.write(LOCK, function* () {
      const known = yield* all<ScopedKey>(SQL.dataKeys);
      const given = new Set(keys.map(scopeKey));
      const isComplete = known.every((scope) => given.has(scopeKey(scope)));
      if ((yield* readMaster())?.id !== from || !isComplete || given.size !== known.length) {
        const problem = 'The vault changed during the rotation, so no key was rotated.';
        throw new LangoError('conflict', problem, { hint: 'Try again.' });
      }
      for (const { tenant, owner, wrapped } of keys) yield* run(SQL.updateDataKey, wrapped, tenant, owner);
      yield* run(SQL.updateMaster, to.id, JSON.stringify(to.source));
    });
  }

  async entry({ tenant, owner }: Scope, kind: VaultKind, name: string): Promise<SealedEntry | undefined> {
    const row = await this.#database.read(() => first<Row>(SQL.entry, tenant, owner, kind, name));
    return row && toRecord(row, FORMAT);
  }

  /** Lists entries by name. */
  async entries({ tenant, owner }: Scope, kind: VaultKind): Promise<readonly SealedEntry[]> {
    const rows = await this.#database.read(() => all<Row>(SQL.entries, tenant, owner, kind));
    return rows.map((row) => toRecord(row, FORMAT));
  }

  scopes(kind: VaultKind): Promise<readonly Scope[]> {
    return this.#database.read(() => all<Scope>(SQL.scopes, kind));
  }

  /**
   * Writes the next version. Rejects with `conflict` when the newest version (0 for none) is not the one before it, and with
   * `too-many` when the owner would have more than `max` entries of the kind.
   */
  async putEntry({ tenant, owner }: Scope, entry: NewSealedEntry, max: number): Promise<SealedEntry> {
    const { kind, name, version, metadata, sealed } = entry;
    assertKeys({ tenant, owner, name });
    const key = [tenant, owner, kind, name];
    return this.#database.write(LOCK, function* (now) {
      const before = yield* first<{ readonly version: number; readonly created_at: number }>(
        SQL.entry,
        ...key,
      );
      if ((before?.version ?? 0) !== version - 1) {
        const problem = before ? `There is a "${name}" already.` : `There is no "${name}" any more.`;
        throw new LangoError('conflict', problem, { hint: 'Read it again, or choose another name.' });
      }
      const [count = 0] = yield* column<number>(SQL.count, tenant, owner, kind);
      if (!before && count >= max) {
        const problem = `There are ${max} entries of this kind already, which is the limit.`;
        throw new LangoError('too-many', problem, { hint: 'Delete one that is not needed any more.' });
      }
      const createdAt = before?.created_at ?? now;
      yield* run(SQL.put, ...key, version, JSON.stringify(metadata), sealed, createdAt, now);
      return { ...entry, createdAt, updatedAt: now };
    });
  }

  async deleteEntry({ tenant, owner }: Scope, kind: VaultKind, name: string): Promise<boolean> {
    return (await this.#database.write(LOCK, () => run(SQL.remove, tenant, owner, kind, name))) > 0;
  }
}

function* readMaster(): Query<MasterRecord | undefined> {
  const row = yield* first<Row>(SQL.master);
  return row && toRecord(row, FORMAT);
}
