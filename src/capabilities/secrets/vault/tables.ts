import type { TableMigrations } from '../../../core/sql.js';

/** The vault. Values and keys are stored encrypted only; see docs/guides/use-secrets.md. */
const SQLITE = `
  CREATE TABLE IF NOT EXISTS vault_master (
    slot INTEGER PRIMARY KEY CHECK (slot = 1),
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

const POSTGRES = `
  CREATE TABLE IF NOT EXISTS vault_master (
    slot INTEGER PRIMARY KEY CHECK (slot = 1),
    id TEXT COLLATE "C" NOT NULL,
    source TEXT COLLATE "C" NOT NULL
  );

  CREATE TABLE IF NOT EXISTS vault_keys (
    tenant TEXT COLLATE "C" NOT NULL,
    owner TEXT COLLATE "C" NOT NULL,
    wrapped BYTEA NOT NULL,
    PRIMARY KEY (tenant, owner)
  );

  CREATE TABLE IF NOT EXISTS vault_entries (
    tenant TEXT COLLATE "C" NOT NULL,
    owner TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    metadata TEXT COLLATE "C" NOT NULL,
    sealed BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant, owner, kind, name)
  );
`;

export const VAULT_TABLES: TableMigrations = { sqlite: [SQLITE], postgres: [POSTGRES] };
