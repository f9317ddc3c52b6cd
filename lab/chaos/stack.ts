import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Transform } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Database } from './database.js';
import { Pooler } from './pooler.js';

/** Finds a free port of the loopback address. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/**
 * A proxy between a replica and the database. When it is cut, it holds all bytes and closes no connection. When it is
 * slow, it delays each statement.
 */
export class Way {
  readonly #sockets = new Set<Socket>();
  readonly #server;
  #slowMs = 0;
  /** Resolves when the proxy is no longer cut. */
  #whole = Promise.resolve();
  #mend: () => void = () => undefined;

  /** The port of the database is read for each connection. */
  constructor(database: { readonly port: number }) {
    this.#server = createServer((near) => {
      const far = connect(database.port, '127.0.0.1');
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(from);
        from.pipe(this.#delayed(from === near)).pipe(to);
        from.on('error', () => to.destroy());
        from.once('close', () => {
          this.#sockets.delete(from);
          to.destroy();
        });
      }
    });
  }

  async open(): Promise<number> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  cut(isCut: boolean): void {
    if (isCut) this.#whole = new Promise((resolve) => (this.#mend = resolve));
    else this.#mend();
  }

  slow(ms: number): void {
    this.#slowMs = ms;
  }

  #delayed(isToDatabase: boolean): Transform {
    return new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        const delay = isToDatabase && this.#slowMs > 0 ? sleep(this.#slowMs) : undefined;
        void Promise.all([delay, this.#whole]).then(() => done(null, chunk));
      },
    });
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}

interface ReplicaOptions {
  readonly database: Database;
  readonly marks: string;
  /** Seconds that its clock is ahead. */
  readonly clockSeconds: number;
  /** Puts a PgBouncer with session pooling between the replica and its way to the database. */
  readonly isPooled: boolean;
}

/** One replica, which may be killed and started again on the same port. */
export class Replica {
  readonly port: number;
  readonly #database: Database;
  readonly #marks: string;
  readonly #home: string;
  readonly #way: Way;
  readonly #clockSeconds: number;
  #pooler: Pooler | undefined;
  #url = '';
  #child: ChildProcess | undefined;
  /** The name of the replica in leases. */
  #worker = '';

  private constructor(parts: ReplicaOptions & { readonly home: string; readonly port: number }) {
    this.#database = parts.database;
    this.#marks = parts.marks;
    this.#home = parts.home;
    this.port = parts.port;
    this.#clockSeconds = parts.clockSeconds;
    this.#way = new Way(parts.database);
  }

  static async create(options: ReplicaOptions): Promise<Replica> {
    const home = await mkdtemp(path.join(tmpdir(), 'lango-chaos-replica-'));
    const replica = new Replica({ ...options, home, port: await freePort() });
    const port = await replica.#way.open();
    if (options.isPooled) replica.#pooler = await Pooler.start(port);
    replica.#url = options.database.url(replica.#pooler?.port ?? port);
    await replica.start();
    return replica;
  }

  /** Start one at a time: its name in leases is the one that was not there before. */
  async start(): Promise<void> {
    // Before the first start the table does not exist.
    const known = await this.#workers().catch((): readonly string[] => []);
    const script = fileURLToPath(new URL('./replica.js', import.meta.url));
    const given = [this.#home, this.port, this.#url, this.#marks, this.#clockSeconds];
    const args = ['--no-warnings', script, ...given.map(String)];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#child = child;
    const gone = once(child, 'exit').then(() => {
      throw new Error('A replica ended at its start.');
    });
    await Promise.race([once(child.stdout, 'data'), gone]);
    gone.catch(() => undefined);
    this.#worker = (await this.#workers()).find((name) => !known.includes(name)) ?? '';
  }

  /** The ids of its running tasks. */
  async tasks(): Promise<readonly string[]> {
    const sql = "SELECT id FROM tasks WHERE state IN ('submitted', 'working') AND lease_by = $1";
    return (await this.#database.rows<{ id: string }>(sql, this.#worker)).map(({ id }) => id);
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#child!;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill(signal);
    await gone;
  }

  pause(isPaused: boolean): void {
    this.#child!.kill(isPaused ? 'SIGSTOP' : 'SIGCONT');
  }

  get way(): Way {
    return this.#way;
  }

  async close(): Promise<void> {
    await this.end('SIGKILL');
    await this.#pooler?.stop();
    this.#way.close();
    await rm(this.#home, { recursive: true, force: true });
  }

  async #workers(): Promise<readonly string[]> {
    return (await this.#database.rows<{ name: string }>('SELECT name FROM workers')).map(({ name }) => name);
  }
}
