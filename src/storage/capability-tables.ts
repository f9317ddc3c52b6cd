import { LangoError } from '../core/errors.js';
import { column, type Query, type SqlDatabase } from '../core/sql.js';
import type { Statement, TableMigrations } from '../core/sql.js';

export interface CapabilityTables extends TableMigrations {
  readonly name: string;
  /** Whether it comes from outside: its tables then begin with its name, and it changes no others. */
  readonly isForeign: boolean;
}

/** Creates the record of the version of each capability's tables. */
export const CAPABILITY_VERSIONS = `CREATE TABLE capabilities (
  name TEXT PRIMARY KEY,
  version INTEGER NOT NULL
)`;

/** The next versions of a capability's tables. Throws `storage` when they were made by a newer version of it. */
export function stepsAfter(name: string, version: number, all: readonly string[]): readonly string[] {
  if (version <= all.length) return all.slice(version);
  throw new LangoError(
    'storage',
    `The tables of ${name} were made by a newer version of it: schema ${version} > ${all.length}.`,
    { hint: 'Start that version or a later one, or choose another database.' },
  );
}

/**
 * Guards the migrations of a capability from outside. Throws `forbidden` for a step that names an object of another one; the
 * returned function throws `storage` when the steps made an object whose name does not begin with the capability's. The
 * objects are the tables, columns, indexes and triggers of the database, as text by name.
 */
export function guardSteps(name: string, steps: readonly string[], before: ReadonlyMap<string, string>) {
  const isOther = (key: string) => !key.startsWith(`${name}_`);
  const others = new Set([...before.keys()].filter(isOther));
  steps.forEach((sql) => assertOwnNames(name, sql, others));
  return (after: typeof before) => {
    const keys = [...new Set([...before.keys(), ...after.keys()])].filter(isOther);
    const changed = keys.filter((key) => before.get(key) !== after.get(key));
    if (changed.length === 0) return;
    throw new LangoError('storage', `The tables of ${name} would change ${changed.join(', ')}.`, {
      hint: `Names of its tables, indexes and triggers must begin with ${name}_. Nothing was changed.`,
    });
  };
}

const TABLES = {
  sqlite: "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')",
  postgres: 'SELECT relname AS name FROM pg_class WHERE relnamespace = current_schema()::regnamespace',
} as const;
/** The catalogs of both databases. */
const CATALOGS = /^(sqlite_|pg_|information_schema$)/;
/** Changes of tables are for migrations, which are checked when they run. */
const CHANGES_OF_TABLES = /^(create|alter|drop|truncate|attach|detach|pragma|vacuum|reindex|copy)$/;
const LITERALS_AND_COMMENTS = /'(?:[^']|'')*'|--[^\n]*|\/\*[\s\S]*?\*\//g;

/**
 * The database as a capability from outside sees it: a statement that names a table of another one, or that changes tables,
 * is refused with `forbidden` before it runs. The names of its own tables begin with `name` and "_".
 */
export function withOwnTables(database: SqlDatabase, name: string): SqlDatabase {
  const checked = new Set<string>();
  let others: Promise<ReadonlySet<string>> | undefined;
  const readOthers = async () => {
    const names = await database.read(() => column<string>(TABLES[database.dialect.name]));
    return new Set(names.filter((one) => !one.startsWith(`${name}_`)));
  };
  const check = ({ sql }: Statement, foreign: ReadonlySet<string>): void => {
    if (checked.has(sql)) return;
    const [first = ''] = assertOwnNames(name, sql, foreign);
    if (CHANGES_OF_TABLES.test(first)) throw refusal(name, first);
    checked.add(sql);
  };
  function* guarded<Result>(query: Query<Result>, foreign: ReadonlySet<string>): Query<Result> {
    let step = query.next();
    while (!step.done) {
      check(step.value, foreign);
      step = query.next(yield step.value);
    }
    return step.value;
  }
  return {
    dialect: database.dialect,
    isShared: database.isShared,
    now: () => database.now(),
    purge: () => database.purge(),
    async read(query) {
      const foreign = await (others ??= readOthers());
      return database.read(() => guarded(query(), foreign));
    },
    async write(lock, work) {
      const foreign = await (others ??= readOthers());
      return database.write(`${name} ${lock}`, (now) => guarded(work(now), foreign));
    },
  };
}

/** Returns the words of a statement. Throws `forbidden` when one is among `others`, or names a catalog of the database. */
function assertOwnNames(name: string, sql: string, others: ReadonlySet<string>): readonly string[] {
  const text = sql.replace(LITERALS_AND_COMMENTS, ' ').toLowerCase();
  const words: readonly string[] = text.match(/[a-z_]\w*/g) ?? [];
  const wrong = words.find((word) => others.has(word) || CATALOGS.test(word));
  if (wrong !== undefined) throw refusal(name, wrong);
  return words;
}

function refusal(name: string, word: string): LangoError {
  return new LangoError('forbidden', `The capability ${name} may not use "${word}" in a statement.`, {
    hint: `Its statements and migrations may name tables that begin with ${name}_ only. Rename a column of that name.`,
  });
}
