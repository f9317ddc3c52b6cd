import Database from 'better-sqlite3';
import pg from 'pg';

/**
 * Starts to count the statements that this process sends to SQLite and PostgreSQL. Returns a function that returns
 * their number.
 */
export function countStatements(): () => number {
  let count = 0;
  const watch = <Name extends string>(owner: Readonly<Record<Name, unknown>>, name: Name): void => {
    const real = owner[name] as (this: unknown, ...given: readonly unknown[]) => unknown;
    const counted = function (this: unknown, ...given: readonly unknown[]): unknown {
      count += 1;
      return Reflect.apply(real, this, given);
    };
    Object.assign(owner, { [name]: counted });
  };
  const database = new Database(':memory:');
  const statement = Object.getPrototypeOf(database.prepare('SELECT 1')) as Record<string, unknown>;
  database.close();
  for (const name of ['run', 'get', 'all', 'iterate']) watch(statement, name);
  watch(pg.Client.prototype, 'query');
  return () => count;
}
