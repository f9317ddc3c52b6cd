import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import type { Held } from './child.js';

/** The use of the machine by the server. */
export interface Figures extends Held {
  readonly residentMb: number;
  /** Open file descriptors of the process. */
  readonly descriptors: number;
  /** Files in the data folder. */
  readonly files: number;
}

const STOP_MS = 40_000;
const CLI = path.join(import.meta.dirname, '../../cli/main.js');
const PROBE = pathToFileURL(path.join(import.meta.dirname, 'child.js')).href;

/** `lango serve` in a process and data folder of its own. */
export class SoakServer implements AsyncDisposable {
  readonly origin: string;
  readonly token: string;
  readonly #home: string;
  readonly #child: ChildProcess;
  readonly #log: Promise<string>;

  private constructor(
    child: ChildProcess,
    home: string,
    own: { origin: string; token: string; log: Promise<string> },
  ) {
    this.#child = child;
    this.#home = home;
    this.origin = own.origin;
    this.token = own.token;
    this.#log = own.log;
  }

  static async open(settings: object): Promise<SoakServer> {
    const home = await mkdtemp(path.join(tmpdir(), 'lango-soak-'));
    await writeFile(path.join(home, 'config.yaml'), JSON.stringify(settings));
    const execArgv = ['--import', PROBE];
    const child = fork(CLI, ['serve', '--home', home, '--port', '0'], { execArgv, silent: true });
    const log = text(child.stderr!);
    let said = '';
    for await (const chunk of child.stdout!) {
      said += String(chunk);
      const origin = /http:\/\/[\w.:]+/.exec(said)?.[0];
      if (origin === undefined) continue;
      const token = (await readFile(path.join(home, 'token'), 'utf8')).trim();
      return new SoakServer(child, home, { origin, token, log });
    }
    throw new Error(`the server did not start: ${said}${await log}`);
  }

  /** A request of the owner. */
  fetch(
    where: string,
    { body, headers, ...init }: RequestInit & { readonly body?: string } = {},
  ): Promise<Response> {
    const all = { authorization: `Bearer ${this.token}`, ...(body !== undefined && JSON_BODY), ...headers };
    const sent = {
      method: body === undefined ? 'GET' : 'POST',
      ...(body !== undefined && { body }),
      ...init,
    };
    return fetch(this.origin + where, { ...sent, headers: all as Record<string, string> });
  }

  /** Reads what the process takes. `residentMb` is read first, before the garbage of this call is collected. */
  async measure(): Promise<Figures> {
    const status = await readFile(`/proc/${this.#child.pid}/status`, 'utf8');
    const residentMb = (Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024) / 1e6;
    const descriptors = (await readdir(`/proc/${this.#child.pid}/fd`)).length;
    const files = (await readdir(this.#home, { recursive: true })).length;
    const reply = once(this.#child, 'message');
    this.#child.send('measure');
    const [held] = (await reply) as [Held];
    return { residentMb, descriptors, files, ...held };
  }

  /** Stops the server as a person does. Resolves with its exit code and what it wrote to its log. */
  async stop(): Promise<{ readonly code: number | null; readonly log: string }> {
    const exit = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    const force = setTimeout(() => this.#child.kill('SIGKILL'), STOP_MS);
    const [code] = (await exit) as [number | null];
    clearTimeout(force);
    return { code, log: await this.#log };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await this.stop();
    await rm(this.#home, { recursive: true, force: true });
  }
}

const JSON_BODY = { 'content-type': 'application/json' };
