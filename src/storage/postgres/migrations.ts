/** The versions of the schema, with the SQL from each version to the next. */

import { toPostgres } from '../../core/sql.js';
import { CAPABILITY_VERSIONS } from '../capability-tables.js';
import { BACKGROUND_USAGE, FORKS, MODEL_SPENDING, TASK_USE } from '../tables.js';
import { SCHEMA } from './schema.js';

const OLDEST_SERVER = 15;

/** Why the tables cannot be made in a server of this version; undefined when they can. */
export function serverProblem(version: string): string | undefined {
  if (Number.parseInt(version, 10) >= OLDEST_SERVER) return undefined;
  return `PostgreSQL ${version} is too old: ${OLDEST_SERVER} or newer is needed.`;
}

/** Each entry takes the schema from the version of its index (0: empty) to the next. A released entry is never edited. */
export const MIGRATIONS: readonly string[] = [
  SCHEMA,
  // 2: the entry up to which the spans of a task were exported; -1 once all were. See trace-store.ts.
  `ALTER TABLE tasks ADD COLUMN traced BIGINT NOT NULL DEFAULT 0;
  CREATE INDEX tasks_untraced ON tasks (key) WHERE traced >= 0;
  -- The one process that exports. An embedded database has one process.
  CREATE TABLE trace_exporter (
    slot INTEGER PRIMARY KEY CHECK (slot = 1),
    worker TEXT COLLATE "C" NOT NULL,
    until BIGINT NOT NULL
  );`,
  // 3: see ../tables.ts, and so for 4, 8 and 10.
  toPostgres(MODEL_SPENDING),
  // 4
  toPostgres(BACKGROUND_USAGE),
  // 5: capabilities have versions of their own. Their tables, which version 1 made, stay as they are.
  `${CAPABILITY_VERSIONS};`,
  // 6: an event may name the events of another task that hold its content. Earlier versions would read it as empty.
  'SELECT 1;',
  // 7: a row of events holds several. The stored message tells a repeat from a conflict.
  'ALTER TABLE inbox DROP COLUMN request_hash;',
  // 8
  toPostgres(TASK_USE),
  // 9: made the function that 11 makes again.
  'SELECT 1;',
  // 10
  toPostgres(FORKS),
  // 11: rows with their text deflated, whose body is the number of its bytes: see ../deflated.ts. And the only conditional
  // append, of several tasks. For each whose id and epoch still match, and that has not ended, it moves the head and inserts
  // the rows with the numbers up to it. The locks of the tasks exclude other writers until the end of the statement. It is a
  // function because a join of the tasks with a list may be planned as a scan of all tasks.
  `ALTER TABLE events ADD COLUMN deflated BYTEA;
  ALTER TABLE events ALTER COLUMN deflated SET STORAGE EXTERNAL;
  DROP FUNCTION IF EXISTS lango_append;
  CREATE FUNCTION lango_append(
    lease_ms BIGINT, ids TEXT[], epochs BIGINT[], counts BIGINT[], steps INTEGER[], states TEXT[], messages TEXT[],
    expiries BIGINT[], run_ends INTEGER[], task_ends INTEGER[],
    items INTEGER[], seqs BIGINT[], authors TEXT[], types TEXT[], bodies TEXT[], deflated BYTEA[]
  ) RETURNS TABLE (item BIGINT, new_head BIGINT, at BIGINT) LANGUAGE plpgsql AS $$
  #variable_conflict use_column
  DECLARE
    given RECORD;
    moved RECORD;
    clock BIGINT := lango_now();
    keys BIGINT[];
    befores BIGINT[];
  BEGIN
    -- A locked task fails the statement soon, so that it holds up no others.
    IF cardinality(ids) > 1 THEN PERFORM set_config('lock_timeout', '100ms', true); END IF;
    FOR given IN
      SELECT * FROM unnest(ids, epochs, counts, steps, states, messages, expiries, run_ends, task_ends) WITH ORDINALITY
        AS g(id, epoch, count, step, state, message, expiry, ends_run, ends_task, item)
    LOOP
      UPDATE tasks SET head = head + given.count, lease_until = clock + lease_ms,
        crashes = CASE given.step WHEN 1 THEN 0 ELSE crashes END,
        state = coalesce(given.state, state),
        status_message = CASE WHEN given.state IS NULL THEN status_message ELSE given.message END,
        status_at = CASE WHEN given.state IS NULL THEN status_at ELSE clock END,
        expires_at = CASE WHEN given.state IS NULL THEN expires_at ELSE given.expiry END,
        lease_by = CASE given.ends_run WHEN 1 THEN NULL ELSE lease_by END,
        cancel_requested = CASE given.ends_run WHEN 1 THEN 0 ELSE cancel_requested END,
        ended_before = CASE given.ends_task WHEN 1 THEN (SELECT last_value + 1 FROM tasks_key_seq) END
      WHERE id = given.id AND epoch = given.epoch AND state NOT IN ('completed', 'failed', 'canceled', 'rejected')
      RETURNING key, head INTO moved;
      CONTINUE WHEN NOT FOUND;
      keys[given.item] := moved.key;
      befores[given.item] := moved.head - given.count;
      item := given.item;
      new_head := moved.head;
      at := clock;
      RETURN NEXT;
    END LOOP;
    INSERT INTO events (task, seq, at, author, type, body, deflated)
      SELECT keys[e.item], befores[e.item] + e.seq, clock, e.author, e.type, e.body, e.deflated
      FROM unnest(items, seqs, authors, types, bodies, deflated)
        AS e(item, seq, author, type, body, deflated)
      WHERE keys[e.item] IS NOT NULL;
  END $$;`,
  // 12: a row may be deflated with the rows before it. Earlier versions would take it for damaged. And no statistics of
  // texts, which no statement looks for: they would hold hundreds of texts, and be written again at each ANALYZE.
  `ALTER TABLE events ALTER COLUMN body SET STATISTICS 0, ALTER COLUMN deflated SET STATISTICS 0;`,
];
