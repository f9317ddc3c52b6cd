import { LangoError } from '../../core/errors.js';
import type { JsonObject } from '../../core/json.js';
import type { Scope } from '../../core/task.js';
import { scopeKey } from '../../core/task.js';
import type {
  MasterRecord,
  MasterSource,
  NewSealedEntry,
  ScopedKey,
  SealedEntry,
  VaultKind,
  VaultStore,
} from '../../core/vault.js';
import { assertKeys } from '../rows.js';
import type { SqliteDatabase } from './database.js';

interface EntryRow {
  readonly kind: VaultKind;
  readonly name: string;
  readonly version: number;
  readonly metadata: string;
  readonly sealed: Buffer;
  readonly created_at: number;
  readonly updated_at: number;
}

type EntryKey = readonly [tenant: string, owner: string, kind: VaultKind, name: string];

const COLUMNS = 'kind, name, version, metadata, sealed, created_at, updated_at';

/** Keeps what the vault has encrypted. */
export class SqliteVaultStore implements VaultStore {
  readonly #database: SqliteDatabase;
  readonly #statements: ReturnType<typeof prepare>;

  constructor(database: SqliteDatabase) {
    this.#database = database;
    this.#statements = prepare(database);
  }

  async master(): Promise<MasterRecord | undefined> {
    return this.#database.read(() => this.#master());
  }

  async createMaster({ id, source }: MasterRecord): Promise<void> {
    await this.#database.write(() => {
      if (this.#master()) throw new LangoError('conflict', 'The vault has a master key already.');
      this.#statements.insertMaster.run(id, JSON.stringify(source));
    });
  }

  async dataKey({ tenant, owner }: Scope): Promise<Uint8Array | undefined> {
    return this.#database.read(() => this.#statements.dataKey.get(tenant, owner));
  }

  async dataKeys(): Promise<readonly ScopedKey[]> {
    return this.#database.read(() => this.#statements.dataKeys.all());
  }

  async addDataKey({ tenant, owner, wrapped }: ScopedKey): Promise<Uint8Array> {
    assertKeys({ tenant, owner });
    return this.#database.write(() => {
      this.#statements.insertDataKey.run(tenant, owner, wrapped);
      return this.#statements.dataKey.get(tenant, owner)!;
    });
  }

  async rotate(from: string, to: MasterRecord, keys: readonly ScopedKey[]): Promise<void> {
    await this.#database.write(() => {
      const known = this.#statements.dataKeys.all();
      const given = new Set(keys.map(scopeKey));
      const isWhole = known.every((scope) => given.has(scopeKey(scope)));
      if (this.#master()?.id !== from || !isWhole || given.size !== known.length) {
        throw new LangoError('conflict', 'The vault was changed at the same time; nothing was rotated.', {
          hint: 'Try again.',
        });
      }
      for (const { tenant, owner, wrapped } of keys) {
        this.#statements.updateDataKey.run(wrapped, tenant, owner);
      }
      this.#statements.updateMaster.run(to.id, JSON.stringify(to.source));
    });
  }

  async entry(scope: Scope, kind: VaultKind, name: string): Promise<SealedEntry | undefined> {
    const row = this.#database.read(() => this.#statements.entry.get(...keyOf(scope, kind, name)));
    return row && toEntry(row);
  }

  async entries({ tenant, owner }: Scope, kind: VaultKind): Promise<readonly SealedEntry[]> {
    return this.#database.read(() => this.#statements.entries.all(tenant, owner, kind)).map(toEntry);
  }

  async scopes(kind: VaultKind): Promise<readonly Scope[]> {
    return this.#database.read(() => this.#statements.scopes.all(kind));
  }

  async putEntry(scope: Scope, entry: NewSealedEntry, most: number): Promise<SealedEntry> {
    const { kind, name, version, metadata, sealed } = entry;
    assertKeys({ tenant: scope.tenant, owner: scope.owner, name });
    const key = keyOf(scope, kind, name);
    return this.#database.write(() => {
      const before = this.#statements.entry.get(...key);
      if ((before?.version ?? 0) !== version - 1) throw changedMeanwhile(name, before !== undefined);
      if (!before && this.#statements.count.get(scope.tenant, scope.owner, kind)! >= most) {
        throw new LangoError('too-many', `There are ${most} entries of this kind already.`, {
          hint: 'Delete one that is not needed any more.',
        });
      }
      const now = this.#database.now();
      const createdAt = before?.created_at ?? now;
      this.#statements.put.run(...key, version, JSON.stringify(metadata), sealed, createdAt, now);
      return { ...entry, createdAt, updatedAt: now };
    });
  }

  async deleteEntry(scope: Scope, kind: VaultKind, name: string): Promise<boolean> {
    return this.#database.write(() => this.#statements.remove.run(...keyOf(scope, kind, name)).changes > 0);
  }

  #master(): MasterRecord | undefined {
    const row = this.#statements.master.get();
    return row && { id: row.id, source: JSON.parse(row.source) as MasterSource };
  }
}

function prepare({ handle }: SqliteDatabase) {
  const where = 'WHERE tenant = ? AND owner = ?';
  return {
    master: handle.prepare<[], { readonly id: string; readonly source: string }>(
      'SELECT id, source FROM vault_master',
    ),
    insertMaster: handle.prepare<[string, string]>('INSERT INTO vault_master VALUES (1, ?, ?)'),
    updateMaster: handle.prepare<[string, string]>('UPDATE vault_master SET id = ?, source = ?'),
    dataKey: handle.prepare<[string, string], Buffer>(`SELECT wrapped FROM vault_keys ${where}`).pluck(),
    dataKeys: handle.prepare<[], ScopedKey>('SELECT tenant, owner, wrapped FROM vault_keys'),
    insertDataKey: handle.prepare<[string, string, Uint8Array]>(
      'INSERT OR IGNORE INTO vault_keys VALUES (?, ?, ?)',
    ),
    updateDataKey: handle.prepare<[Uint8Array, string, string]>(`UPDATE vault_keys SET wrapped = ? ${where}`),
    entry: handle.prepare<[...EntryKey], EntryRow>(
      `SELECT ${COLUMNS} FROM vault_entries ${where} AND kind = ? AND name = ?`,
    ),
    entries: handle.prepare<[string, string, VaultKind], EntryRow>(
      `SELECT ${COLUMNS} FROM vault_entries ${where} AND kind = ? ORDER BY name`,
    ),
    scopes: handle.prepare<[VaultKind], Scope>(
      'SELECT DISTINCT tenant, owner FROM vault_entries WHERE kind = ?',
    ),
    count: handle
      .prepare<[string, string, VaultKind], number>(
        `SELECT count(*) FROM vault_entries ${where} AND kind = ?`,
      )
      .pluck(),
    put: handle.prepare<[...EntryKey, number, string, Uint8Array, number, number]>(
      'INSERT OR REPLACE INTO vault_entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
    ),
    remove: handle.prepare<[...EntryKey]>(`DELETE FROM vault_entries ${where} AND kind = ? AND name = ?`),
  };
}

function keyOf({ tenant, owner }: Scope, kind: VaultKind, name: string): EntryKey {
  return [tenant, owner, kind, name];
}

function toEntry(row: EntryRow): SealedEntry {
  const { kind, name, version, metadata, sealed } = row;
  return {
    ...{ kind, name, version, sealed, metadata: JSON.parse(metadata) as JsonObject },
    ...{ createdAt: row.created_at, updatedAt: row.updated_at },
  };
}

function changedMeanwhile(name: string, exists: boolean): LangoError {
  const message = exists ? `There is a "${name}" already.` : `There is no "${name}" any more.`;
  return new LangoError('conflict', message, { hint: 'Look at it again, or choose another name.' });
}
