import { column, lockOf, run, type Query, type SqlDatabase } from '../core/sql.js';
import type { Scope } from '../core/task.js';
import type { TaskUseStore } from '../stores/tasks.js';

const SQL = {
  of: 'SELECT bytes FROM task_use WHERE tenant = ? AND owner = ?',
  add: `INSERT INTO task_use (tenant, owner, bytes) VALUES (?, ?, ?)
    ON CONFLICT (tenant, owner) DO UPDATE SET bytes = task_use.bytes + excluded.bytes`,
  subtract: `UPDATE task_use SET bytes = CASE WHEN bytes > @bytes THEN bytes - @bytes ELSE 0 END
    WHERE tenant = @tenant AND owner = @owner`,
} as const;

export function createTaskUseStore(database: SqlDatabase): TaskUseStore {
  return {
    of: (scope) => database.read(() => usedBy(scope)),
    add: (scope, bytes) =>
      database.write(lockOf(scope), function* () {
        yield* run(SQL.add, scope.tenant, scope.owner, bytes);
        return yield* usedBy(scope);
      }),
  };
}

function* usedBy({ tenant, owner }: Scope): Query<number> {
  const [bytes = 0] = yield* column<number>(SQL.of, tenant, owner);
  return Number(bytes);
}

/** Counts bytes of removed tasks no longer. */
export function subtractUse({ tenant, owner }: Scope, bytes: number): Query<number> {
  return run(SQL.subtract, { tenant, owner, bytes });
}
