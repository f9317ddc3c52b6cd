import { LangoError } from '../core/errors.js';
import type { TableMigrations } from '../core/sql.js';
import { assertOwnNames } from './own-tables.js';

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

/** The objects of a database, as text by name: tables, columns, indexes, triggers. */
type DatabaseObjects = ReadonlyMap<string, string>;

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
 * returned function throws `storage` when the steps made an object whose name does not begin with the capability's.
 */
export function guardSteps(
  name: string,
  steps: readonly string[],
  before: DatabaseObjects,
): (after: DatabaseObjects) => void {
  const isOther = (key: string) => !key.startsWith(`${name}_`);
  const others = new Set([...before.keys()].filter(isOther));
  steps.forEach((sql) => assertOwnNames(name, sql, others));
  return (after) => {
    const keys = [...new Set([...before.keys(), ...after.keys()])].filter(isOther);
    const changed = keys.filter((key) => before.get(key) !== after.get(key));
    if (changed.length === 0) return;
    throw new LangoError('storage', `The tables of ${name} would change ${changed.join(', ')}.`, {
      hint: `Names of its tables, indexes and triggers must begin with ${name}_. Nothing was changed.`,
    });
  };
}
