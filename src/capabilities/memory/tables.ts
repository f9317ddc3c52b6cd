import { toPostgres, type TableMigrations } from '../../core/sql.js';

/** Observational memory. `reflection` is the reflection that replaced an observation; an open one has none. */
const TABLES = `
  CREATE TABLE IF NOT EXISTS observed (
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    agent TEXT NOT NULL,
    context_id TEXT NOT NULL,
    up_to TEXT NOT NULL,
    PRIMARY KEY (tenant, owner, agent, context_id)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE IF NOT EXISTS observations (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    agent TEXT NOT NULL,
    context_id TEXT NOT NULL,
    text TEXT NOT NULL,
    at INTEGER NOT NULL,
    tasks TEXT NOT NULL,
    "by" TEXT NOT NULL,
    from_outside INTEGER NOT NULL,
    reflection TEXT
  ) STRICT, WITHOUT ROWID;

  CREATE INDEX IF NOT EXISTS observations_by_owner ON observations (tenant, owner, at, id);
  CREATE INDEX IF NOT EXISTS observations_by_reflection ON observations (reflection) WHERE reflection IS NOT NULL;

  CREATE TABLE IF NOT EXISTS reflections (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    text TEXT NOT NULL,
    "from" INTEGER NOT NULL,
    "to" INTEGER NOT NULL,
    "by" TEXT NOT NULL,
    from_outside INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE INDEX IF NOT EXISTS reflections_by_owner ON reflections (tenant, owner, "to", id);
`;

/** The index that finds the observations of a context. */
const byContext = (columns: string): string =>
  `CREATE INDEX IF NOT EXISTS observations_by_context ON observations ${columns};`;

export const MEMORY_TABLES: TableMigrations = {
  sqlite: [TABLES + byContext('(tenant, owner, context_id, at, id)')],
  postgres: [toPostgres(TABLES) + byContext('USING hash (context_id)')],
};
