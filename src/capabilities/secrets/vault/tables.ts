import { toPostgres, type TableMigrations } from '../../../core/sql.js';

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
