/** Values and keys stand here encrypted only; see docs/guides/use-secrets.md. */
export const VAULT_SCHEMA = `
  CREATE TABLE vault_master (
    slot INTEGER PRIMARY KEY CHECK (slot = 1),
    id TEXT NOT NULL,
    source TEXT NOT NULL
  ) STRICT;

  CREATE TABLE vault_keys (
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    wrapped BLOB NOT NULL,
    PRIMARY KEY (tenant, owner)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE vault_entries (
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
