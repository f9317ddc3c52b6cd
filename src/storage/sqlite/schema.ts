/** The tables of the first version of the database that was released. See migrations.ts for what came after. */

import { PUSH_CONFIGS, TASK_COLUMNS } from '../tables.js';

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
${TASK_COLUMNS}
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
