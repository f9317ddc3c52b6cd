import { createDriver, type ConnectionOptions } from './connection.js';
import { openingError } from './failure.js';
import { MIGRATIONS, serverProblem } from './migrations.js';

const FACTS = `SELECT current_setting('server_version') AS version, current_setting('data_checksums') AS checksums,
  current_database() AS name, pg_is_in_recovery() AS standby, to_regclass('meta') IS NOT NULL AS made`;
const VERSION = "SELECT value FROM meta WHERE key = 'schema'";

interface Facts {
  readonly version: string;
  readonly checksums: string;
  readonly name: string;
  readonly standby: boolean;
  readonly made: boolean;
}

/** The state of a database, read without changing it. */
export interface PostgresState {
  /** Names the server and the database, without the password. */
  readonly text: string;
  /** The reason why a server could not use it; undefined if it could. */
  readonly problem: string | undefined;
}

/** Rejects with `LangoError` `storage` with advice if the database cannot be reached. */
export async function inspectPostgres(options: ConnectionOptions): Promise<PostgresState> {
  const { pool } = await createDriver(options);
  try {
    const { rows } = await pool.query<Facts>(FACTS);
    const { version, checksums, name, standby, made } = rows[0]!;
    const schema = made ? Number((await pool.query<{ readonly value: string }>(VERSION)).rows[0]?.value) : 0;
    const tables = made ? `schema ${schema}` : 'its tables are created at the first start';
    return {
      text: `PostgreSQL ${version}, database ${name}, ${tables}, page checksums ${checksums}`,
      problem: serverProblem(version) ?? problemOf(schema, standby),
    };
  } catch (error) {
    throw openingError(error);
  } finally {
    await pool.end().catch(() => undefined);
  }
}

function problemOf(schema: number, isStandby: boolean): string | undefined {
  if (isStandby) return 'It is a standby and accepts no writes. Let storage.url name the primary.';
  if (schema <= MIGRATIONS.length) return undefined;
  return `It was made by a newer version of Lango: schema ${schema} > ${MIGRATIONS.length}. Use that version or a later one.`;
}
