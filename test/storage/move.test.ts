import { openSqliteStores } from '../../lab/all-stores.js';
import { copyFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import Database from 'better-sqlite3';
import { silentLogger } from '../../src/core/logger.js';
import { langoHere } from '../cli/lango-here.js';
import { lango, makeHome, type Home } from '../cli/lango-process.js';
import { documentOf, unit } from '../suites/library-fixtures.js';
import { acceptOne, AGENT, ALICE, BOB, delta, fenceOf } from '../suites/task-store-fixtures.js';
import type { EventBody } from '../../src/core/task.js';
import { createDriver } from '../../src/storage/postgres/connection.js';
import { openPostgresStorage } from '../../src/storage/postgres/storage.js';
import { startPostgres } from '../support/postgres.js';
import { sendText, withServer } from '../support/server.js';

/** A text that the task above keeps as a reference to the entry of the task below. */
const KEPT_ONCE = 'a text that is longer than its reference. '.repeat(9);
const [ABOVE, BELOW] = ['above', 'below'];

/** `lango migrate` moves an embedded database into PostgreSQL, completely or not at all. */

const server = await startPostgres();

(server ? describe : describe.skip)('lango migrate', () => {
  let home: Home;
  let file: string;
  let taskId = '';
  const passphrase = 'correct horse battery';

  beforeAll(async () => {
    home = await makeHome('server: { port: 0 }');
    file = path.join(home.folder, 'lango.db');
    const settings = { storage: { sqlite: { file } }, vault: { passphrase } };
    await withServer({ settings }, async (first) => {
      ({ taskId } = await sendText(first, 'hello'));
    });
    await fill(file);
  });
  afterAll(async () => {
    await home.remove();
    await server!.stop();
  });

  const migrate = (url: string) =>
    langoHere(['migrate', '--from', `sqlite:${file}`], {
      env: { ...home.env, LANGO_DATABASE_URL: url },
    });

  it('moves the rows of every table of either database, with the name of the node and the counters', async () => {
    const own = await server!.database();
    const { stdout, stderr, code } = await lango(['migrate', '--from', `sqlite:${file}`, '--json'], {
      env: { ...home.env, LANGO_DATABASE_URL: own.url },
    });
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
    const { rows } = JSON.parse(stdout) as { rows: Record<string, number> };
    const names = await own.run("SELECT tablename FROM pg_tables WHERE schemaname = 'public'");
    const tables = (names.rows as { tablename: string }[]).map(({ tablename }) => tablename);
    expect(Object.keys(rows).toSorted()).toEqual(
      tables
        .filter((name) => !['meta', 'capabilities', 'workers', 'trace_exporter'].includes(name))
        .toSorted(),
    );
    const embedded = new Database(file, { readonly: true });
    for (const [name, count] of Object.entries(rows)) {
      const there = (await own.run(`SELECT count(*)::int AS count FROM ${name}`)).rows[0] as {
        count: number;
      };
      const here = embedded.prepare(`SELECT count(*) FROM ${name}`).pluck().get();
      expect({ name, count: there.count, here }).toEqual({ name, count, here: count });
      expect(count).toBeGreaterThan(0);
    }
    const text = odd(1).replace('\0', '\ufffd');
    const payment = await own.run('SELECT amount::text, note, "from" FROM payments ORDER BY id LIMIT 1');
    expect(payment.rows).toEqual([{ amount: `${2n ** 53n + 1n}`, note: text, from: text }]);
    const next = await own.run(
      "INSERT INTO graph_names (tenant, owner, key, name) VALUES ('t', 'o', 'k', 'n') RETURNING id::int",
    );
    expect(next.rows).toEqual([{ id: 3 }]);
    const last = "SELECT pg_sequence_last_value(pg_get_serial_sequence('tasks', 'key'))::int AS last";
    expect((await own.run(last)).rows).toEqual([{ last: 950 }]);
    const node = embedded.prepare("SELECT value FROM meta WHERE key = 'node'").pluck().get();
    expect((await own.run("SELECT value FROM meta WHERE key = 'node'")).rows).toEqual([{ value: node }]);
    embedded.close();
    await own.run("DELETE FROM graph_names WHERE key = 'k'");
    const settings = { storage: { url: own.url }, vault: { passphrase } };
    const there = await openPostgresStorage({
      ...{ url: own.url, connections: 2, statementSeconds: 30, pooling: 'session' },
      ...{ tables: [], logger: silentLogger },
    });
    expect((await there.tasks.read(ABOVE, 1, 1))[0]!.body).toMatchObject({ text: KEPT_ONCE });
    await there.close();
    await withServer({ settings }, async (again) => {
      expect(await again.client.get({ taskId })).toMatchObject({ state: 'completed' });
      expect((await sendText(again, 'hello')).end.state).toBe('completed');
    });
    await own.drop();
  });

  it('moves nothing into a database that is in use or not empty, and names what is missing', async () => {
    const own = await server!.database();
    await withServer({ settings: { storage: { url: own.url } } }, async () => {
      expect((await migrate(own.url)).stderr).toContain('A server uses the database of storage.url');
    });
    expect((await migrate(own.url)).code).toBe(0);
    expect((await migrate(own.url)).stderr).toContain('is not empty');
    await own.drop();
    const none = await langoHere(['migrate'], home);
    expect(none.stderr).toContain('names no PostgreSQL database');
    const missing = await langoHere(['migrate', '--from', 'sqlite:/nowhere/lango.db'], {
      env: { ...home.env, LANGO_DATABASE_URL: own.url },
    });
    expect(missing.stderr).toContain('There is no database /nowhere/lango.db');
    expect((await langoHere(['migrate', '--from', 'lango.db'], home)).stderr).toContain('sqlite:FILE');
  });

  it('creates only the tables with --schema, any number of times', async () => {
    const own = await server!.database();
    const env = { ...home.env, LANGO_DATABASE_URL: own.url };
    for (let time = 0; time < 2; time += 1) {
      const { stdout, code } = await langoHere(['migrate', '--schema'], { env });
      expect({ stdout, code }).toEqual({ stdout: expect.stringMatching(/^PostgreSQL .*schema \d/), code: 0 });
    }
    expect((await own.run('SELECT count(*)::int AS count FROM tasks')).rows).toEqual([{ count: 0 }]);
    const none = await langoHere(['migrate', '--schema'], home);
    expect(none.stderr).toContain('names no PostgreSQL database');
    const both = await langoHere(['migrate', '--schema', '--from', `sqlite:${file}`], { env });
    expect(both.stderr).toContain('--schema moves nothing');
    expect((await migrate(own.url)).code).toBe(0);
    await own.drop();
  });

  it('leaves the other database empty when one row does not arrive unchanged', async () => {
    const own = await server!.database();
    expect((await migrate(own.url)).code).toBe(0);
    await own.run(`DO $$ DECLARE name TEXT; BEGIN
      FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'meta' LOOP
        EXECUTE 'TRUNCATE ' || name;
      END LOOP;
    END $$`);
    await own.run(`CREATE FUNCTION spoil() RETURNS TRIGGER LANGUAGE plpgsql AS
      $$ BEGIN NEW.text := NEW.text || '.'; RETURN NEW; END $$;
      CREATE TRIGGER spoiled BEFORE INSERT ON reflections FOR EACH ROW EXECUTE FUNCTION spoil()`);
    const { stderr, code } = await migrate(own.url);
    expect(code).not.toBe(0);
    expect(stderr).toContain('The copy of reflections differs from the original: 2 rows written, 2 found.');
    for (const name of ['tasks', 'events', 'reflections', 'passages'])
      expect((await own.run(`SELECT 1 FROM ${name}`)).rows).toEqual([]);
    await own.drop();
  });

  it('only fails the next statement when the server ends connections, idle or lent', async () => {
    const own = await server!.database();
    const { pool } = await createDriver({
      ...{ url: own.url, connections: 2, statementSeconds: 30, pooling: 'session' },
    });
    const [lent, idle] = [await pool.connect(), await pool.connect()];
    idle.release();
    // `once` of node:events would listen to errors too.
    const ended = [
      new Promise((resolve) => pool.once('remove', resolve)),
      new Promise((resolve) => lent.once('end', () => resolve(true))),
    ];
    await own.run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE pid <> pg_backend_pid() AND datname = current_database()`);
    await Promise.all(ended);
    await expect(lent.query('SELECT 1')).rejects.toThrow();
    lent.release(true);
    expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await pool.end();
    await own.drop();
  });

  it('refuses a file that is damaged, or no database of Lango', async () => {
    const own = await server!.database();
    const copy = path.join(home.folder, 'copy.db');
    await copyFile(path.join(home.folder, 'config.yaml'), copy);
    const { stderr, code } = await langoHere(['migrate', '--from', `sqlite:${copy}`], {
      env: { ...home.env, LANGO_DATABASE_URL: own.url },
    });
    expect(code).not.toBe(0);
    expect(stderr).toContain('not a database');
    await own.drop();
  });
});

/** A text that a faulty encoding would damage. */
function odd(number: number): string {
  return `${number} \0 '"\\\\ \u{1f600} \u202e é\n`;
}

/** Documents of two owners, and two rows for each table that is still empty. */
async function fill(file: string): Promise<void> {
  const storage = openSqliteStores({ file, synchronous: 'normal', logger: silentLogger });
  for (const [scope, name] of [
    [ALICE, 'one'],
    [BOB, 'two'],
  ] as const) {
    await storage.library.put(scope, documentOf(name, `about ${name}, again and again and again`));
    const [passage] = await storage.library.unembedded(scope, 'm', 1);
    await storage.library.addVectors(scope, 'm', new Map([[passage!.id, unit(1, 0)]]));
  }
  const below = await acceptOne(storage.tasks, { id: BELOW });
  await storage.tasks.append(fenceOf(below), [delta(KEPT_ONCE)]);
  const above = await acceptOne(storage.tasks, { id: ABOVE });
  const body = { ...delta(KEPT_ONCE).body, from: [BELOW, 2, 2] } as EventBody;
  await storage.tasks.append(fenceOf(above), [{ author: AGENT, body }]);
  await storage.close();
  const database = new Database(file);
  database.exec("INSERT INTO meta (key, value) VALUES ('last_task', '950')");
  const empty = database
    .prepare<[], string>("SELECT name FROM pragma_table_list WHERE type = 'table' AND schema = 'main'")
    .pluck()
    .all()
    .filter((name) => !name.startsWith('sqlite_') && !database.prepare(`SELECT 1 FROM ${name}`).get());
  for (const name of empty) {
    const columns = database.pragma(`table_info(${name})`) as { name: string; type: string }[];
    for (const number of name === 'vault_master' ? [1] : [1, 2]) {
      const values = columns.map(({ name: column, type }) => {
        if (column === 'amount') return 2n ** 53n + BigInt(number);
        if (['provenance', 'facts'].includes(column)) return '{"contextId":"c"}';
        if (type === 'BLOB') return Buffer.from([0, 255, number]);
        // The events of a removed task are removed: here of none.
        if (name === 'removed_tasks' && column === 'key') return 900 + number;
        return type === 'INTEGER' ? number : odd(number);
      });
      database.prepare(`INSERT INTO ${name} VALUES (${columns.map(() => '?').join(', ')})`).run(values);
    }
  }
  database.close();
}
