/** Tables that both databases have in one form, in SQLite's words: see `toPostgres`. A released one is never edited. */

/** The columns of a task besides its key. */
export const TASK_COLUMNS = `    id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    agent TEXT NOT NULL,
    context TEXT NOT NULL,
    parent TEXT,
    authority TEXT NOT NULL,
    level INTEGER NOT NULL,
    state TEXT NOT NULL,
    status_message TEXT,
    status_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    head INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    lease_by TEXT,
    lease_until INTEGER NOT NULL,
    -- How often a process ended without a stop while it had the lease, since the task last recorded a step.
    crashes INTEGER NOT NULL,
    -- When the first of its open questions runs out.
    expires_at INTEGER,
    cancel_requested INTEGER NOT NULL,
    -- Tasks with this key or a larger one were accepted after the end of the task. NULL until it ends.
    ended_before INTEGER`;

/** The outbox: push configs, and how far each was delivered. */
export const PUSH_CONFIGS = `
  CREATE TABLE push_configs (
    key TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    task_id TEXT NOT NULL,
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
    UNIQUE (task_id, id)
  ) STRICT, WITHOUT ROWID;

  CREATE INDEX push_by_owner ON push_configs (tenant, owner) WHERE state = 'active';
  CREATE INDEX push_given_up ON push_configs (next_at) WHERE state = 'given-up';
`;

/** The cost of an owner's model calls in a day, in billionths. See spending-store.ts. */
export const MODEL_SPENDING = `CREATE TABLE model_spending (
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    key TEXT NOT NULL,
    day INTEGER NOT NULL,
    amount INTEGER NOT NULL,
    PRIMARY KEY (tenant, owner, key, day)
  ) STRICT, WITHOUT ROWID;`;

/** The usage of model calls that belong to no task. */
export const BACKGROUND_USAGE = `CREATE TABLE background_usage (
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    day INTEGER NOT NULL,
    agent TEXT NOT NULL,
    model TEXT NOT NULL,
    currency TEXT NOT NULL,
    input INTEGER NOT NULL,
    output INTEGER NOT NULL,
    cached INTEGER NOT NULL,
    written INTEGER NOT NULL,
    cost INTEGER,
    PRIMARY KEY (tenant, owner, day, agent, model, currency)
  ) STRICT, WITHOUT ROWID;`;

/** A fork has rows of its own events alone: it shares those up to `fork_at` with the task `fork_of`. See forks.ts. */
export const FORKS = `ALTER TABLE tasks ADD COLUMN fork_of TEXT;
  ALTER TABLE tasks ADD COLUMN fork_at INTEGER;
  CREATE INDEX tasks_forks ON tasks (fork_of) WHERE fork_of IS NOT NULL;`;

/** The bytes that the tasks of an owner take. See task-use-store.ts. */
export const TASK_USE = `CREATE TABLE task_use (
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (tenant, owner)
  ) STRICT, WITHOUT ROWID;`;
