/** Where news of tasks are sent, and how far that got: the outbox. */
export const PUSH_SCHEMA = `
  CREATE TABLE push_configs (
    key TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    task TEXT NOT NULL,
    id TEXT NOT NULL,
    url TEXT NOT NULL,
    scheme TEXT,
    sealed TEXT,
    version TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    cursor INTEGER NOT NULL,
    up_to INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    next_at INTEGER NOT NULL,
    lease_by TEXT,
    lease_until INTEGER NOT NULL,
    state TEXT NOT NULL,
    reason TEXT,
    UNIQUE (task, id)
  ) STRICT, WITHOUT ROWID;

  CREATE INDEX push_by_owner ON push_configs (tenant, owner) WHERE state = 'active';
  CREATE INDEX push_given_up ON push_configs (next_at) WHERE state = 'given-up';
`;
