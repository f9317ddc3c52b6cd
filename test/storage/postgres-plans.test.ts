import { afterAll, expect, it } from '@jest/globals';
import { silentLogger } from '../../src/core/logger.js';
import { openPostgresStorage } from '../../src/storage/postgres/storage.js';
import { taskSql } from '../../src/storage/task-sql.js';
import { acceptOne, AGENT, fenceOf, runEnd } from '../suites/task-store-fixtures.js';
import { startPostgres } from '../support/postgres.js';

const server = await startPostgres();
const database = await server?.database();
const options = { connections: 4, statementSeconds: 30, pooling: 'session', tables: [] } as const;
const storage =
  database && (await openPostgresStorage({ ...options, logger: silentLogger, url: database.url }));

afterAll(async () => {
  await storage?.close();
  await server?.stop();
});

(server ? it : it.skip)(
  'PostgreSQL looks for tasks that wait without reading those that have ended',
  async () => {
    const { tasks, database: sql } = storage!;
    const ended = await acceptOne(tasks);
    await tasks.append(fenceOf(ended), [runEnd('completed')]);
    const columns = `SELECT string_agg(column_name, ', ') AS names FROM information_schema.columns
    WHERE table_name = 'tasks' AND column_name NOT IN ('key', 'id')`;
    const [row] = (await database!.run(columns)).rows as readonly { readonly names: string }[];
    const { names } = row!;
    await database!.run(
      `INSERT INTO tasks (id, ${names}) SELECT id || n, ${names} FROM tasks, generate_series(1, 5000) AS n`,
    );
    const statement = taskSql(sql.dialect).waits('1').replaceAll('@agents', `'["${AGENT}"]'`);
    /** The ways in which tasks are found. */
    const scans = async () => {
      const { rows } = await database!.run(`EXPLAIN ${statement}`);
      return JSON.stringify(rows).match(/(?<=Scan )using \w+|Seq Scan/g);
    };

    expect(await tasks.waits([AGENT])).toBe(false);
    const byIndex = ['using tasks_by_expiry', 'using tasks_live'];
    expect(await scans()).toEqual(byIndex);
    await database!.run('ANALYZE tasks');
    expect(await scans()).toEqual(byIndex);
  },
);
