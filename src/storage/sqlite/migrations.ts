/** The versions of the schema, with the SQL from each version to the next. */

import { CAPABILITY_VERSIONS } from '../capability-tables.js';
import { BACKGROUND_USAGE, FORKS, MODEL_SPENDING, TASK_USE } from '../tables.js';

/** The version that `SCHEMA` makes. Earlier versions were never released, and there is no way from them to this one. */
export const FIRST_VERSION = 15;

/** The version from which on capabilities have versions of their own. */
export const CAPABILITIES_SINCE = 21;

/** Each entry takes the schema from `FIRST_VERSION` plus its index to the next. A released entry is never edited. */
export const MIGRATIONS: readonly string[] = [
  // 16: the checksum of an event. NULL in events that were written before.
  'ALTER TABLE events ADD COLUMN checksum INTEGER;',
  // 17: a message id is unique in its context. Earlier rows do not tell whether the client named a context, so they are kept as both.
  `CREATE TABLE inbox_by_context (
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    agent TEXT NOT NULL,
    -- '' for a message that named no context and no task; its id is known for a limited time.
    context TEXT NOT NULL,
    message_id TEXT NOT NULL,
    request_hash TEXT NOT NULL,
    task TEXT NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (tenant, owner, agent, context, message_id)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO inbox_by_context
    SELECT inbox.tenant, inbox.owner, inbox.agent, '', message_id, request_hash, task, seq, created_at
      FROM inbox JOIN tasks ON tasks.id = task
    UNION ALL SELECT inbox.tenant, inbox.owner, inbox.agent, context, message_id, request_hash, task, seq, created_at
      FROM inbox JOIN tasks ON tasks.id = task;
  DROP TABLE inbox;
  ALTER TABLE inbox_by_context RENAME TO inbox;
  ALTER TABLE removed_tasks ADD COLUMN id TEXT NOT NULL DEFAULT '';
  ALTER TABLE removed_tasks ADD COLUMN context TEXT NOT NULL DEFAULT '';`,
  // 18: the entry up to which the spans of a task were exported; -1 once all were. See trace-store.ts.
  `ALTER TABLE tasks ADD COLUMN traced INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX tasks_untraced ON tasks (key) WHERE traced >= 0;`,
  // 19: see ../tables.ts, and so for 20, 24 and 25.
  MODEL_SPENDING,
  // 20
  BACKGROUND_USAGE,
  // 21: capabilities have versions of their own. Their tables, which versions up to 20 made, stay as they are.
  `${CAPABILITY_VERSIONS} STRICT, WITHOUT ROWID;`,
  // 22: an event may name the events of another task that hold its content. Earlier versions would read it as empty.
  'SELECT 1;',
  // 23: a row of events holds several. A hash is the key of a message; the stored message tells a repeat from a conflict.
  `CREATE TABLE inbox_by_hash (
    key BLOB PRIMARY KEY,
    -- The key of the task.
    task INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  INSERT INTO inbox_by_hash
    SELECT inbox_key(tenant, owner, agent, context, message_id) AS key,
      coalesce((SELECT key FROM tasks WHERE id = task), (SELECT key FROM removed_tasks WHERE id = task), 0), seq, at
    FROM inbox ORDER BY 1;
  DROP TABLE inbox;
  ALTER TABLE inbox_by_hash RENAME TO inbox;`,
  // 24
  TASK_USE,
  // 25
  FORKS,
  // 26: new rows of the inbox, in the order of their tasks.
  `CREATE TABLE recent_inbox (
    -- 0 or 1: one part is moved while the other one gets new rows.
    part INTEGER NOT NULL,
    task INTEGER NOT NULL,
    key BLOB NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (part, task, key)
  ) STRICT, WITHOUT ROWID;`,
  // 27: the key in the inbox of the message that made a task, until it is moved: see inbox.ts.
  `INSERT INTO inbox SELECT key, task, seq, at FROM recent_inbox WHERE true ORDER BY key
    ON CONFLICT DO UPDATE SET task = excluded.task, seq = excluded.seq, at = excluded.at WHERE excluded.at >= inbox.at;
  DROP TABLE recent_inbox;
  ALTER TABLE tasks ADD COLUMN sent BLOB;
  INSERT INTO meta (key, value) SELECT 'inbox_moved', coalesce(max(key), 0) FROM tasks;`,
  // 28: the store gives out the keys of tasks, so a list of the last ones need not be written with each task: only when the
  // last task is removed. The edit of the text is one of https://sqlite.org/lang_altertable.html, section 7, as no row changes.
  `PRAGMA writable_schema = ON;
  UPDATE sqlite_schema SET sql = replace(sql, ' AUTOINCREMENT', '') WHERE type = 'table' AND name = 'tasks';
  PRAGMA writable_schema = RESET;
  INSERT INTO meta (key, value) SELECT 'last_task', seq FROM sqlite_sequence WHERE name = 'tasks';
  DELETE FROM sqlite_sequence WHERE name = 'tasks';
  CREATE TRIGGER tasks_last AFTER DELETE ON tasks WHEN old.key > (SELECT coalesce(max(key), 0) FROM tasks) BEGIN
    INSERT INTO meta (key, value) VALUES ('last_task', old.key)
      ON CONFLICT DO UPDATE SET value = max(CAST(value AS INTEGER), CAST(excluded.value AS INTEGER));
  END;
  DROP INDEX tasks_untraced;`,
];
