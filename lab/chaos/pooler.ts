import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './stack.js';

const START_MS = 10_000;
const LOOK_MS = 50;

/** A PgBouncer with session pooling, as a process of its own: each client has one connection of the server to itself. */
export class Pooler {
  readonly port: number;
  readonly #folder: string;
  readonly #child: ChildProcess;

  private constructor(port: number, folder: string, child: ChildProcess) {
    this.port = port;
    this.#folder = folder;
    this.#child = child;
  }

  /** @param to - the port of the database on loopback, or of what stands before it */
  static async start(to: number): Promise<Pooler> {
    const folder = await mkdtemp(path.join(tmpdir(), 'lango-chaos-pooler-'));
    // PgBouncer does not run as root, and its user must get in.
    await chmod(folder, 0o755);
    const port = await freePort();
    await writeFile(path.join(folder, 'users'), '"postgres" "postgres"\n');
    const settings = [
      '[databases]',
      `* = host=127.0.0.1 port=${to}`,
      '[pgbouncer]',
      `listen_addr = 127.0.0.1,::1\nlisten_port = ${port}\nunix_socket_dir =`,
      `auth_type = plain\nauth_file = ${path.join(folder, 'users')}`,
      'pool_mode = session\ndefault_pool_size = 20\nmax_client_conn = 100',
      // Without it a client waits 15 s before the pooler tries a server that was away once more.
      'server_login_retry = 1',
    ];
    await writeFile(path.join(folder, 'pgbouncer.ini'), `${settings.join('\n')}\n`);
    const command = ['pgbouncer', '-q', path.join(folder, 'pgbouncer.ini')];
    const all = process.getuid?.() === 0 ? ['runuser', '-u', 'postgres', '--', ...command] : command;
    const child = spawn(all[0]!, all.slice(1), { cwd: '/', stdio: 'ignore' });
    const failed = new Promise<never>((_, reject) => {
      child.once('error', reject);
      child.once('exit', () => reject(new Error('PgBouncer does not start. Debian has it: pgbouncer.')));
    });
    failed.catch(() => undefined);
    await Promise.race([failed, listens(port)]);
    return new Pooler(port, folder, child);
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const gone = once(this.#child, 'exit');
      this.#child.kill('SIGTERM');
      await gone;
    }
    await rm(this.#folder, { recursive: true, force: true });
  }
}

async function listens(port: number): Promise<void> {
  for (const end = Date.now() + START_MS; Date.now() < end; await sleep(LOOK_MS)) {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await new Promise((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    });
    socket.destroy();
    if (isOpen) return;
  }
  throw new Error('PgBouncer does not listen.');
}
