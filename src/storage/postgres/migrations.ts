/** The versions of the schema, with the SQL from each version to the next. */

import { CAPABILITY_VERSIONS } from '../capability-tables.js';
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
  // 3: the cost of an owner's model calls in a day, in billionths. See spending-store.ts.
  `CREATE TABLE model_spending (
    tenant TEXT COLLATE "C" NOT NULL,
    owner TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    day BIGINT NOT NULL,
    amount BIGINT NOT NULL,
    PRIMARY KEY (tenant, owner, key, day)
  );`,
  // 4: the usage of model calls that belong to no task.
  `CREATE TABLE background_usage (
    tenant TEXT COLLATE "C" NOT NULL,
    owner TEXT COLLATE "C" NOT NULL,
    day BIGINT NOT NULL,
    agent TEXT COLLATE "C" NOT NULL,
    model TEXT COLLATE "C" NOT NULL,
    currency TEXT COLLATE "C" NOT NULL,
    input BIGINT NOT NULL,
    output BIGINT NOT NULL,
    cached BIGINT NOT NULL,
    written BIGINT NOT NULL,
    cost BIGINT,
    PRIMARY KEY (tenant, owner, day, agent, model, currency)
  );`,
  // 5: capabilities have versions of their own. Their tables, which version 1 made, stay as they are.
  `${CAPABILITY_VERSIONS};`,
  // 6: an event may name the events of another task that hold its content. Earlier versions would read it as empty.
  'SELECT 1;',
  // 7: a row of events holds several. The stored message tells a repeat from a conflict.
  'ALTER TABLE inbox DROP COLUMN request_hash;',
  // 8: what the tasks of an owner take, in bytes. See task-use-store.ts.
  `CREATE TABLE task_use (
    tenant TEXT COLLATE "C" NOT NULL,
    owner TEXT COLLATE "C" NOT NULL,
    bytes BIGINT NOT NULL,
    PRIMARY KEY (tenant, owner)
  );`,
];
