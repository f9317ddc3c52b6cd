import Database from 'better-sqlite3';
import pg from 'pg';

/**
 * Returns a function that returns the number of statements that this process has sent to SQLite and PostgreSQL since
 * its first call. Until then they are not counted, as that costs a send 1 µs.
 */
export function countStatements(): () => number {
  let count: number | undefined;
  const watch = <Name extends string>(owner: Readonly<Record<Name, unknown>>, name: Name): void => {
    const real = owner[name] as (this: unknown, ...given: readonly unknown[]) => unknown;
    const counted = function (this: unknown, ...given: readonly unknown[]): unknown {
      count! += 1;
      return Reflect.apply(real, this, given);
    };
    Object.assign(owner, { [name]: counted });
  };
  const begin = (): number => {
    const database = new Database(':memory:');
    const statement = Object.getPrototypeOf(database.prepare('SELECT 1')) as Record<string, unknown>;
    database.close();
    for (const name of ['run', 'get', 'all', 'iterate']) watch(statement, name);
    watch(pg.Client.prototype, 'query');
    return 0;
  };
  return () => (count ??= begin());
}
