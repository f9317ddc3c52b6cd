import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { SettingsInput } from '../../src/index.js';
import type { Hold } from '../watchdog.js';
import type { Question } from './child.js';

const REPLY_MS = 20_000;
const STOP_MS = 5_000;

interface Address {
  readonly origin: string;
  readonly token?: string;
}

/** The attacked server, in its own process. */
export class Stage implements AsyncDisposable {
  readonly home: string;
  readonly #child: ChildProcess;
  readonly #origin: string;
  readonly #token: string | undefined;

  private constructor(home: string, child: ChildProcess, address: Address) {
    this.home = home;
    this.#child = child;
    this.#origin = address.origin;
    this.#token = address.token;
  }

  static async open(settings: SettingsInput): Promise<Stage> {
    const home = await mkdtemp(path.join(tmpdir(), 'lango-abuse-'));
    const file = path.join(import.meta.dirname, 'child.js');
    const child = fork(file, [home, JSON.stringify({ server: { port: 0 }, ...settings })]);
    const died = new AbortController();
    child.once('exit', (code) => died.abort(new Error(`the server ended with ${code} at its start`)));
    const [address] = (await once(child, 'message', died)) as [Address];
    return new Stage(home, child, address);
  }

  get origin(): string {
    return this.#origin;
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** A request of the server's owner. With `auth.mode: jwt` it has only the given headers. */
  fetch(where: string, init: RequestInit = {}): Promise<Response> {
    const own = this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` };
    const headers = { ...own, ...(init.headers as Record<string, string>) };
    return fetch(this.#origin + where, { signal: AbortSignal.timeout(60_000), ...init, headers });
  }

  /** Rejects when the process does not respond within 20 s, because something blocks its event loop. */
  async ask<Reply>(question: Question): Promise<Reply> {
    const reply = once(this.#child, 'message', { signal: AbortSignal.timeout(REPLY_MS) });
    this.#child.send(question);
    const [answer] = (await reply) as [Reply];
    return answer;
  }

  /**
   * Measures how long the event loop was blocked since the last call. Rejects when the process is gone or does not
   * respond.
   */
  async measure(): Promise<Hold> {
    if (!this.isAlive) throw new Error('the server is gone');
    return this.ask<Hold>({ kind: 'measure' });
  }

  /** The most memory that the process had at once, in megabytes. */
  async peakMb(): Promise<number> {
    const status = await readFile(`/proc/${this.#child.pid}/status`, 'utf8').catch(() => '');
    return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.isAlive) {
      const exit = once(this.#child, 'exit');
      this.#child.kill('SIGTERM');
      const force = setTimeout(() => this.#child.kill('SIGKILL'), STOP_MS);
      await exit;
      clearTimeout(force);
    }
    await rm(this.home, { recursive: true, force: true });
  }
}
