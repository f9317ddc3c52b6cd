import type { TableMigrations } from '../../core/sql.js';

/** Observational memory. `reflection` is the reflection that replaced an observation; an open one has none. */
const SQLITE = `
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
  CREATE INDEX IF NOT EXISTS observations_by_context ON observations (tenant, owner, context_id, at, id);
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

const POSTGRES = `
  CREATE TABLE IF NOT EXISTS observed (
    tenant TEXT COLLATE "C" NOT NULL,
    owner TEXT COLLATE "C" NOT NULL,
    agent TEXT COLLATE "C" NOT NULL,
    context_id TEXT COLLATE "C" NOT NULL,
    up_to TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, owner, agent, context_id)
  );

  CREATE TABLE IF NOT EXISTS observations (
    id TEXT COLLATE "C" PRIMARY KEY,
    tenant TEXT COLLATE "C" NOT NULL,
    owner TEXT COLLATE "C" NOT NULL,
    agent TEXT COLLATE "C" NOT NULL,
    context_id TEXT COLLATE "C" NOT NULL,
    text TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    tasks TEXT COLLATE "C" NOT NULL,
    "by" TEXT COLLATE "C" NOT NULL,
    from_outside BIGINT NOT NULL,
    reflection TEXT COLLATE "C"
  );

  CREATE INDEX IF NOT EXISTS observations_by_owner ON observations (tenant, owner, at, id);
  CREATE INDEX IF NOT EXISTS observations_by_context ON observations USING hash (context_id);
  CREATE INDEX IF NOT EXISTS observations_by_reflection ON observations (reflection) WHERE reflection IS NOT NULL;

  CREATE TABLE IF NOT EXISTS reflections (
    id TEXT COLLATE "C" PRIMARY KEY,
    tenant TEXT COLLATE "C" NOT NULL,
    owner TEXT COLLATE "C" NOT NULL,
    text TEXT COLLATE "C" NOT NULL,
    "from" BIGINT NOT NULL,
    "to" BIGINT NOT NULL,
    "by" TEXT COLLATE "C" NOT NULL,
    from_outside BIGINT NOT NULL
  );

  CREATE INDEX IF NOT EXISTS reflections_by_owner ON reflections (tenant, owner, "to", id);
`;

export const MEMORY_TABLES: TableMigrations = { sqlite: [SQLITE], postgres: [POSTGRES] };
