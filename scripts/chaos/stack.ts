import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Database } from './database.js';

/** A port of the loopback address that is free now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** The way from a replica to the database, which can be cut: bytes wait then, and no side sees an end. */
export class Way {
  readonly #sockets = new Set<Socket>();
  readonly #server;
  #isCut = false;

  constructor(database: number) {
    this.#server = createServer((near) => {
      const far = connect(database, '127.0.0.1');
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(one);
        one.pipe(other);
        one.on('error', () => other.destroy());
        one.once('close', () => {
          this.#sockets.delete(one);
          other.destroy();
        });
        if (this.#isCut) one.pause();
      }
    });
  }

  async open(): Promise<number> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  cut(isCut: boolean): void {
    this.#isCut = isCut;
    for (const socket of this.#sockets) {
      if (isCut) socket.pause();
      else socket.resume();
    }
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** One replica, which may be killed and started again on the same port. */
export class Replica {
  readonly port: number;
  readonly #database: Database;
  readonly #marks: string;
  readonly #home: string;
  readonly #way: Way;
  #url = '';
  #child: ChildProcess | undefined;
  /** Its name in leases. */
  #worker = '';

  private constructor(parts: { database: Database; marks: string; home: string; port: number }) {
    this.#database = parts.database;
    this.#marks = parts.marks;
    this.#home = parts.home;
    this.port = parts.port;
    this.#way = new Way(parts.database.port);
  }

  static async create(database: Database, marks: string): Promise<Replica> {
    const home = await mkdtemp(path.join(tmpdir(), 'lango-chaos-replica-'));
    const replica = new Replica({ database, marks, home, port: await freePort() });
    replica.#url = database.url(await replica.#way.open());
    await replica.start();
    return replica;
  }

  /** Start one at a time: the name in leases is the one that is new. */
  async start(): Promise<void> {
    // Before the first start there is no such table.
    const known = await this.#workers().catch((): readonly string[] => []);
    const script = fileURLToPath(new URL('./replica.js', import.meta.url));
    const args = ['--no-warnings', script, this.#home, String(this.port), this.#url, this.#marks];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#child = child;
    const gone = once(child, 'exit').then(() => {
      throw new Error('A replica ended at its start.');
    });
    await Promise.race([once(child.stdout, 'data'), gone]);
    gone.catch(() => undefined);
    this.#worker = (await this.#workers()).find((name) => !known.includes(name)) ?? '';
  }

  /** The tasks that it works on. */
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

  cut(isCut: boolean): void {
    this.#way.cut(isCut);
  }

  async close(): Promise<void> {
    await this.end('SIGKILL');
    this.#way.close();
    await rm(this.#home, { recursive: true, force: true });
  }

  async #workers(): Promise<readonly string[]> {
    return (await this.#database.rows<{ name: string }>('SELECT name FROM workers')).map(({ name }) => name);
  }
}
