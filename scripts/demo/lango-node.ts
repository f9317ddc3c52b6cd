import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';

const CLI = path.resolve(import.meta.dirname, '../../cli/main.js');
const START_MS = 30_000;
const STOP_MS = 20_000;

export interface NodeOptions {
  readonly name: string;
  /** The environment besides PATH. It and the configuration file are all that a node depends on. */
  readonly env: Readonly<Record<string, string>>;
  /** Gets each line of the node's log. */
  readonly onLog: (line: string) => void;
}

/** One `lango serve` in its own process. */
export class LangoNode {
  readonly #options: NodeOptions;
  #child: ChildProcess | undefined;

  constructor(options: NodeOptions) {
    this.#options = options;
  }

  /** Resolves with the address once the node says that it is ready. */
  async start(): Promise<string> {
    const { env, name, onLog } = this.#options;
    const child = spawn(process.execPath, [CLI, 'serve'], {
      env: { PATH: process.env['PATH'], ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    createInterface({ input: child.stderr }).on('line', onLog);
    const ready = new Promise<string>((resolve) => {
      createInterface({ input: child.stdout }).on('line', (line) => {
        const [, origin] = /^ready (http\S+)$/.exec(line) ?? [];
        if (origin) resolve(origin);
      });
    });
    const gone = once(child, 'exit').then(() =>
      Promise.reject(new Error(`${name} ended before it was ready`)),
    );
    const late = AbortSignal.timeout(START_MS);
    const slow = new Promise<never>((_, reject) =>
      late.addEventListener('abort', () => reject(new Error(`${name} was not ready in time`))),
    );
    return Promise.race([ready, gone, slow]);
  }

  /** Stops it by SIGTERM, and waits until it has ended. */
  async stop(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    await exit;
    clearTimeout(timer);
  }
}

/** Finds a port that is free now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
