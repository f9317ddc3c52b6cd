/** `reflection` is the reflection that stands for an observation; an open one has none. */
export const MEMORY_SCHEMA = `
  CREATE TABLE observed (
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    agent TEXT NOT NULL,
    context TEXT NOT NULL,
    up_to TEXT NOT NULL,
    PRIMARY KEY (tenant, owner, agent, context)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE observations (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    agent TEXT NOT NULL,
    context TEXT NOT NULL,
    text TEXT NOT NULL,
    at INTEGER NOT NULL,
    first_task TEXT NOT NULL,
    last_task TEXT NOT NULL,
    made_by TEXT NOT NULL,
    reflection TEXT
  ) STRICT, WITHOUT ROWID;

  CREATE INDEX observations_by_owner ON observations (tenant, owner, at, id);
  CREATE INDEX observations_by_context ON observations (tenant, owner, context, at, id);
  CREATE INDEX observations_by_reflection ON observations (reflection) WHERE reflection IS NOT NULL;

  CREATE TABLE reflections (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    text TEXT NOT NULL,
    first_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    made_by TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE INDEX reflections_by_owner ON reflections (tenant, owner, last_at, id);
`;

export const MEMORY_OUTSIDE_SCHEMA = `
  ALTER TABLE observations ADD COLUMN outside INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE reflections ADD COLUMN outside INTEGER NOT NULL DEFAULT 0;
`;
