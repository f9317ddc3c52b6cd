import { LangoError } from '../../core/errors.js';
import type { Scope } from '../../core/task.js';
import { scopeKey } from '../../core/task.js';
import type {
  MasterRecord,
  NewSealedEntry,
  ScopedKey,
  SealedEntry,
  VaultKind,
  VaultStore,
} from '../../stores/vault.js';
import type { Row } from '../records.js';
import { toRecord } from '../records.js';
import { assertKeys } from '../rows.js';
import type { SqliteDatabase } from './database.js';
import type { Prepared } from './prepared.js';

const FORMAT = { json: ['metadata', 'source'] };

type EntryKey = readonly [tenant: string, owner: string, kind: VaultKind, name: string];

const OWNED = 'WHERE tenant = ? AND owner = ?';
const COLUMNS = 'kind, name, version, metadata, sealed, created_at, updated_at';

const SQL = {
  master: 'SELECT id, source FROM vault_master',
  insertMaster: 'INSERT INTO vault_master VALUES (1, ?, ?)',
  updateMaster: 'UPDATE vault_master SET id = ?, source = ?',
  dataKey: `SELECT wrapped FROM vault_keys ${OWNED}`,
  dataKeys: 'SELECT tenant, owner, wrapped FROM vault_keys',
  insertDataKey: 'INSERT OR IGNORE INTO vault_keys VALUES (?, ?, ?)',
  updateDataKey: `UPDATE vault_keys SET wrapped = ? ${OWNED}`,
  entry: `SELECT ${COLUMNS} FROM vault_entries ${OWNED} AND kind = ? AND name = ?`,
  entries: `SELECT ${COLUMNS} FROM vault_entries ${OWNED} AND kind = ? ORDER BY name`,
  scopes: 'SELECT DISTINCT tenant, owner FROM vault_entries WHERE kind = ?',
  count: `SELECT count(*) FROM vault_entries ${OWNED} AND kind = ?`,
  put: 'INSERT OR REPLACE INTO vault_entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
  remove: `DELETE FROM vault_entries ${OWNED} AND kind = ? AND name = ?`,
} as const;

/** Stores the vault's keys and entries, all of them encrypted. */
export class SqliteVaultStore implements VaultStore {
  readonly #database: SqliteDatabase;
  readonly #prepared: Prepared;

  constructor(database: SqliteDatabase) {
    this.#database = database;
    this.#prepared = database.prepared;
  }

  async master(): Promise<MasterRecord | undefined> {
    return this.#database.read(() => this.#master());
  }

  async createMaster({ id, source }: MasterRecord): Promise<void> {
    await this.#database.write(() => {
      if (this.#master()) throw new LangoError('conflict', 'The vault has a master key already.');
      this.#prepared.run(SQL.insertMaster, id, JSON.stringify(source));
    });
  }

  async dataKey({ tenant, owner }: Scope): Promise<Uint8Array | undefined> {
    return this.#database.read(() => this.#prepared.column<Buffer>(SQL.dataKey, tenant, owner)[0]);
  }

  async dataKeys(): Promise<readonly ScopedKey[]> {
    return this.#database.read(() => this.#prepared.all<ScopedKey>(SQL.dataKeys));
  }

  async addDataKey({ tenant, owner, wrapped }: ScopedKey): Promise<Uint8Array> {
    assertKeys({ tenant, owner });
    return this.#database.write(() => {
      this.#prepared.run(SQL.insertDataKey, tenant, owner, wrapped);
      return this.#prepared.column<Buffer>(SQL.dataKey, tenant, owner)[0]!;
    });
  }

  async rotate(from: string, to: MasterRecord, keys: readonly ScopedKey[]): Promise<void> {
    await this.#database.write(() => {
      const known = this.#prepared.all<ScopedKey>(SQL.dataKeys);
      const given = new Set(keys.map(scopeKey));
      const isComplete = known.every((scope) => given.has(scopeKey(scope)));
      if (this.#master()?.id !== from || !isComplete || given.size !== known.length) {
        throw new LangoError('conflict', 'The vault changed during the rotation, so no key was rotated.', {
          hint: 'Try again.',
        });
      }
      for (const { tenant, owner, wrapped } of keys) {
        this.#prepared.run(SQL.updateDataKey, wrapped, tenant, owner);
      }
      this.#prepared.run(SQL.updateMaster, to.id, JSON.stringify(to.source));
    });
  }

  async entry(scope: Scope, kind: VaultKind, name: string): Promise<SealedEntry | undefined> {
    const row = this.#database.read(() => this.#prepared.first<Row>(SQL.entry, ...keyOf(scope, kind, name)));
    return row && toRecord(row, FORMAT);
  }

  async entries({ tenant, owner }: Scope, kind: VaultKind): Promise<readonly SealedEntry[]> {
    const rows = this.#database.read(() => this.#prepared.all<Row>(SQL.entries, tenant, owner, kind));
    return rows.map((row) => toRecord(row, FORMAT));
  }

  async scopes(kind: VaultKind): Promise<readonly Scope[]> {
    return this.#database.read(() => this.#prepared.all<Scope>(SQL.scopes, kind));
  }

  async putEntry(scope: Scope, entry: NewSealedEntry, most: number): Promise<SealedEntry> {
    const { kind, name, version, metadata, sealed } = entry;
    assertKeys({ tenant: scope.tenant, owner: scope.owner, name });
    const key = keyOf(scope, kind, name);
    return this.#database.write(() => {
      const before = this.#prepared.first<{ readonly version: number; readonly created_at: number }>(
        SQL.entry,
        ...key,
      );
      if ((before?.version ?? 0) !== version - 1) throw changedMeanwhile(name, before !== undefined);
      if (!before && this.#count(scope, kind) >= most) {
        throw new LangoError('too-many', `There are ${most} entries of this kind already.`, {
          hint: 'Delete one that is not needed any more.',
        });
      }
      const now = this.#database.now();
      const createdAt = before?.created_at ?? now;
      this.#prepared.run(SQL.put, ...key, version, JSON.stringify(metadata), sealed, createdAt, now);
      return { ...entry, createdAt, updatedAt: now };
    });
  }

  async deleteEntry(scope: Scope, kind: VaultKind, name: string): Promise<boolean> {
    return this.#database.write(
      () => this.#prepared.run(SQL.remove, ...keyOf(scope, kind, name)).changes > 0,
    );
  }

  #count({ tenant, owner }: Scope, kind: VaultKind): number {
    return this.#prepared.column<number>(SQL.count, tenant, owner, kind)[0] ?? 0;
  }

  #master(): MasterRecord | undefined {
    const row = this.#prepared.first<Row>(SQL.master);
    return row && toRecord(row, FORMAT);
  }
}

function keyOf({ tenant, owner }: Scope, kind: VaultKind, name: string): EntryKey {
  return [tenant, owner, kind, name];
}

function changedMeanwhile(name: string, exists: boolean): LangoError {
  const message = exists ? `There is a "${name}" already.` : `There is no "${name}" any more.`;
  return new LangoError('conflict', message, { hint: 'Read it again, or choose another name.' });
}
