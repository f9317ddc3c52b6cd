import { isTerminal } from '../core/task.js';
import { EXPORT_LEASE_MS, TRACE_AFTER_MS, type DueTrace, type TraceStore } from '../stores/traces.js';
import { toTaskRecord, type TaskRow } from './rows.js';
import { all, run, type Dialect, type SqlDatabase } from '../core/sql.js';

/** A task is due again when it has a quarter more entries, so that all exports read at most five times its entries. */
const due = ({ using }: Dialect): string => `SELECT * FROM tasks ${using('tasks_untraced')}
  WHERE traced >= 0
    AND (ended_before IS NOT NULL OR (created_at <= ? AND head > traced AND 4 * head >= 5 * traced))
  ORDER BY key LIMIT ?`;
const SQL = {
  /** In SQLite it is made for the first export: each new task is written to it, and most servers export nothing. */
  index: 'CREATE INDEX IF NOT EXISTS tasks_untraced ON tasks (key) WHERE traced >= 0',
  claim: `INSERT INTO trace_exporter (slot, worker, until) VALUES (1, @worker, @until)
    ON CONFLICT (slot) DO UPDATE SET worker = excluded.worker, until = excluded.until
      WHERE trace_exporter.worker = excluded.worker OR trace_exporter.until <= @now`,
  release: 'DELETE FROM trace_exporter WHERE worker = ?',
  exported: 'UPDATE tasks SET traced = ? WHERE id = ?',
} as const;
/** The mark of a task whose spans were all exported. */
const ALL = -1;
const LOCK = 'traces';

type TracedRow = TaskRow & { readonly traced: number };

export function createTraceStore(database: SqlDatabase): TraceStore {
  let isIndexed = database.isShared;
  return {
    async listDue(limit) {
      if (!isIndexed) await database.write(LOCK, () => run(SQL.index));
      isIndexed = true;
      const before = (await database.now()) - TRACE_AFTER_MS;
      const sql = due(database.dialect);
      const rows = await database.read(() => all<TracedRow>(sql, before, limit));
      return rows.map((row) => ({ id: row.id, task: recordOf(row), exported: row.traced }));
    },

    async claim(worker) {
      if (!database.isShared) return true;
      const changes = await database.write(LOCK, (now) =>
        run(SQL.claim, { worker, until: now + EXPORT_LEASE_MS, now }),
      );
      return changes === 1;
    },

    async release(worker) {
      if (database.isShared) await database.write(LOCK, () => run(SQL.release, worker));
    },

    async noteExported(traces) {
      await database.write(LOCK, function* () {
        for (const { id, task } of traces)
          yield* run(SQL.exported, task && !isTerminal(task.state) ? task.head : ALL, id);
      });
    },
  };
}

function recordOf(row: TaskRow): DueTrace['task'] {
  try {
    return toTaskRecord({ ...row, status_message: null });
  } catch {
    return undefined;
  }
}
