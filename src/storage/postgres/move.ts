import type { Client } from 'pg';
import { LangoError } from '../../core/errors.js';
import type { Logger } from '../../core/logger.js';
import type { DerivedTable, Field } from '../../core/sql.js';
import type { CapabilityTables } from '../capability-tables.js';
import { Tally, type Moved, type MovedTable, type MoveSource } from '../moving.js';
import { createDriver, type ConnectionOptions } from './connection.js';
import { BEGIN, LOCK_CLASS } from './database.js';
import { storageError } from './failure.js';
import { migrate } from './storage.js';

interface MoveOptions extends ConnectionOptions {
  /** Called before each table is moved. */
  readonly onTable?: ((name: string) => void) | undefined;
  readonly tables: readonly CapabilityTables[];
  readonly logger: Logger;
}

type Row = readonly Field[];

/** The statements that write rows of a table to PostgreSQL and read them back. */
type Form = Pick<DerivedTable, 'columns' | 'write' | 'read' | 'compared'>;

/** The form of a table that is the same in both databases. */
const plainForm = (columns: readonly string[]): Form => ({
  columns,
  write: (parameter) => parameter,
  read: (column) => `"${column}"::text`,
  compared: (row) => row,
});

const MAX_PARAMETERS = 60_000;
const MAX_BATCH_CHARACTERS = 2 * 1024 * 1024;
const ROWS_AT_ONCE = 500;
const IN_USE = `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND classid = ${LOCK_CLASS} AND objid <> 0
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

/**
 * Moves all rows into an empty database in one transaction, so that it gets all rows or stays empty. Reads each table again
 * and compares it by count and hash. Rejects with `LangoError` `storage` when the database is not empty, a server uses it, or
 * its rows differ from those of the source.
 */
export async function moveIntoPostgres(options: MoveOptions, source: MoveSource): Promise<Moved> {
  const driver = await createDriver(options);
  let client: Client | undefined;
  try {
    await migrate(driver, options);
    client = await driver.connect();
    // A server takes this lock when it starts, so it waits until the move is done.
    await client.query(`${BEGIN}; SELECT pg_advisory_xact_lock(${LOCK_CLASS}, 0)`);
    await assertFree(client, source.tables);
    const moved: Record<string, number> = {};
    for (const table of source.tables) {
      options.onTable?.(table.name);
      moved[table.name] = await moveTable(client, table);
    }
    await client.query("UPDATE meta SET value = $1 WHERE key = 'node'", [source.nodeId]);
    await client.query('COMMIT');
    return moved;
  } catch (error) {
    throw storageError(error);
  } finally {
    await client?.end().catch(() => undefined);
    await driver.pool.end().catch(() => undefined);
  }
}

async function assertFree(client: Client, tables: readonly MovedTable[]): Promise<void> {
  if ((await client.query(IN_USE)).rowCount !== 0) {
    throw new LangoError('storage', 'A server uses the database of storage.url.', {
      hint: 'Stop it. Data is moved into an empty database that no server uses.',
    });
  }
  for (const { name } of tables) {
    if ((await client.query(`SELECT 1 FROM ${name} LIMIT 1`)).rowCount === 0) continue;
    const text = `The database of storage.url is not empty: it has ${name.replace('_', ' ')}.`;
    throw new LangoError('storage', text, {
      hint: 'Create a new database and name it in storage.url. Nothing was changed.',
    });
  }
}

async function moveTable(client: Client, table: MovedTable): Promise<number> {
  const { name, numbered } = table;
  const form = table.derived ?? plainForm(table.columns);
  const given = new Tally();
  for (const batch of batchesOf(table, form)) {
    for (const row of batch) given.add(form.compared(row));
    const width = form.columns.length;
    const rows = batch.map((_, at) => {
      const values = form.columns.map((column, index) => form.write(`$${at * width + index + 1}`, column));
      return `(${values.join(', ')})`;
    });
    const into = form.columns.map((column) => `"${column}"`).join(', ');
    await client.query(`INSERT INTO ${name} (${into}) VALUES ${rows.join(', ')}`, batch.flat());
  }
  const found = new Tally();
  for await (const row of rowsIn(client, name, form)) found.add(form.compared(row));
  if (!found.equals(given)) {
    const text = `The copy of ${name.replace('_', ' ')} differs from the original: ${given.rows} rows written, ${found.rows} found.`;
    throw new LangoError('storage', text, {
      hint: 'Nothing was moved. Please report this as a bug of Lango.',
    });
  }
  const setLast = 'SELECT setval(pg_get_serial_sequence($1, $2), $3)';
  if (numbered && numbered.last > 0) await client.query(setLast, [name, numbered.column, numbered.last]);
  return given.rows;
}

function* batchesOf(table: MovedTable, { columns }: Form): Generator<readonly Row[]> {
  const most = Math.min(ROWS_AT_ONCE, Math.floor(MAX_PARAMETERS / columns.length));
  let batch: Row[] = [];
  let characters = 0;
  for (const row of table.rows()) {
    batch.push(row);
    characters += row.reduce((sum, field) => sum + (field?.length ?? 0), 0);
    if (batch.length < most && characters < MAX_BATCH_CHARACTERS) continue;
    yield batch;
    batch = [];
    characters = 0;
  }
  if (batch.length > 0) yield batch;
}

async function* rowsIn(client: Client, table: string, { columns, read }: Form): AsyncGenerator<Row> {
  await client.query(
    `DECLARE moved NO SCROLL CURSOR FOR SELECT ${columns.map(read).join(', ')} FROM ${table}`,
  );
  for (;;) {
    const { rows } = await client.query<Field[]>({
      text: `FETCH ${ROWS_AT_ONCE} FROM moved`,
      rowMode: 'array',
    });
    if (rows.length === 0) break;
    yield* rows;
  }
  await client.query('CLOSE moved');
}
