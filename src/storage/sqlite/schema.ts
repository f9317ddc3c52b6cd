import { PAYMENTS_SCHEMA } from './payments-schema.js';
import { EXTRACTION_SCHEMA, GRAPH_SCHEMA } from './graph-schema.js';
import { VAULT_SCHEMA } from './vault-schema.js';
import { MEMORY_OUTSIDE_SCHEMA, MEMORY_SCHEMA } from './memory-schema.js';
import { PUSH_SCHEMA } from './push-schema.js';
import { FORGETTING_SCHEMA, LIBRARY_SCHEMA } from './library-schema.js';
import { RETENTION_SCHEMA } from './retention-schema.js';

/**
 * Each entry takes the database from the version of its index to the next one. Entries are never
 * edited once released: a change of the schema is a new entry.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- The key stands for the id where rows are many. It rises with each new task; none gets that of a task that is gone.
  CREATE TABLE tasks (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
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
    attempts INTEGER NOT NULL,
    cancel_requested INTEGER NOT NULL
  ) STRICT;

  -- Lists: an agent's tasks, all or those in one state.
  CREATE INDEX tasks_by_status ON tasks (tenant, owner, agent, status_at, id, state);
  -- Sessions: the tasks of one conversation, in the order they were made.
  CREATE INDEX tasks_by_context ON tasks (context, agent, owner, tenant);
  -- What claim looks through: unfinished and not waiting for a person, by level of delegation.
  CREATE INDEX tasks_live ON tasks (level, id, agent) WHERE state IN ('submitted', 'working');

  CREATE TABLE events (
    task INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    author TEXT,
    type TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (task, seq)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE inbox (
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    agent TEXT NOT NULL,
    message_id TEXT NOT NULL,
    request_hash TEXT NOT NULL,
    task TEXT NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (tenant, owner, agent, message_id)
  ) STRICT, WITHOUT ROWID;
  `,
  PAYMENTS_SCHEMA,
  GRAPH_SCHEMA,
  VAULT_SCHEMA,
  MEMORY_SCHEMA,
  PUSH_SCHEMA,
  LIBRARY_SCHEMA,
  `
  ALTER TABLE tasks ADD COLUMN expires_at INTEGER;
  -- Tasks that wait for a person with a question that runs out.
  CREATE INDEX tasks_by_expiry ON tasks (expires_at) WHERE expires_at IS NOT NULL;
  `,
  MEMORY_OUTSIDE_SCHEMA,
  RETENTION_SCHEMA,
  EXTRACTION_SCHEMA,
  FORGETTING_SCHEMA,
];

/** SQLite's application id of our files: "LNGO". A file with tables and another id is not ours. */
export const APPLICATION_ID = 0x4c4e474f;
