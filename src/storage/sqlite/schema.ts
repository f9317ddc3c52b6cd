/** The tables of the first version of the database that was released. See migrations.ts for what came after. */

import { PUSH_CONFIGS } from '../tables.js';

/** SQLite's application id of Lango's files: "LNGO". A file with tables and another id belongs to another program. */
export const APPLICATION_ID = 0x4c4e474f;

/** Tasks, their events, and the inbox, which maps message ids to tasks. */
const TASKS = `
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
    -- How often a process ended without a stop while it had the lease, since the task last recorded a step.
    crashes INTEGER NOT NULL,
    -- When the first of its open questions runs out.
    expires_at INTEGER,
    cancel_requested INTEGER NOT NULL,
    -- Tasks with this key or a larger one were accepted after the end of the task. NULL until it ends.
    ended_before INTEGER
  ) STRICT;

  -- Lists: an agent's tasks, all or those in one state.
  CREATE INDEX tasks_by_status ON tasks (tenant, owner, agent, status_at, id, state);
  -- Sessions: the tasks of one conversation, in the order they were made.
  CREATE INDEX tasks_by_context ON tasks (context, agent, owner, tenant);
  -- What claim looks through, owner by owner: unfinished and not waiting for a person, by level of delegation.
  CREATE INDEX tasks_live ON tasks (level, tenant, owner, id, agent) WHERE state IN ('submitted', 'working');
  -- Tasks that wait for a person with a question that runs out.
  CREATE INDEX tasks_by_expiry ON tasks (expires_at) WHERE expires_at IS NOT NULL;

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

  -- Tasks that are removed, until all of their events and inbox rows are removed as well.
  CREATE TABLE removed_tasks (
    key INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    agent TEXT NOT NULL
  ) STRICT;
`;

export const SCHEMA = TASKS + PUSH_CONFIGS;
