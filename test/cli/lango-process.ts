import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { built } from '../support/built.js';

/** The program, as users start it. */
export const mainFile = (): string => built('cli/main.js');

export interface Result {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Start {
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  /** Gets what the program writes to standard error, as it comes. */
  readonly onNote?: (note: string) => void;
}

/** Runs the real program to its end, without a terminal. */
export async function lango(args: readonly string[], start: Start = {}): Promise<Result> {
  const child = spawn(process.execPath, [mainFile(), ...args], { env: cleanEnv(start.env) });
  child.stdin.on('error', () => {});
  child.stdin.end(start.input ?? '');
  if (start.onNote) child.stderr.on('data', (chunk) => start.onNote!(String(chunk)));
  return ended(child);
}

export async function ended(child: ChildProcess): Promise<Result> {
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString('utf8')));
  child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString('utf8')));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, stdout, stderr };
}

/** Keeps the settings of the machine away from the program. */
export function cleanEnv(env: Readonly<Record<string, string>> = {}): Record<string, string> {
  return { PATH: process.env['PATH'] ?? '', HOME: '/nonexistent', ...env };
}

/** A new data folder, and the environment that starts the program with it. */
export interface Home {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  remove(): Promise<void>;
}

export async function makeHome(config?: string): Promise<Home> {
  const folder = await mkdtemp(path.join(tmpdir(), 'lango-cli-test-'));
  if (config !== undefined) await writeFile(path.join(folder, 'config.yaml'), config, { mode: 0o600 });
  return {
    folder,
    env: { LANGO_HOME: folder, LANGO_LOG_LEVEL: 'warn' },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

export interface Server {
  readonly origin: string;
  /** The lines that the server wrote to standard output until it was ready. */
  readonly lines: readonly string[];
  /** The environment of client commands for this server. */
  readonly env: Readonly<Record<string, string>>;
  readonly child: ChildProcess;
  stop(): Promise<Result>;
}

/** Resolves once the server has requested the cards of its remote agents; it is ready before that. */
export async function untilPeersAsked(origin: string, token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  const ask = async () => (await fetch(`${origin}/lango/agents`, { headers })).text();
  while ((await ask()).includes('Its card was not loaded yet.'));
}

/** Starts `lango serve --port 0`. Resolves once the server is ready. */
export async function startServer(home: Home, args: readonly string[] = []): Promise<Server> {
  const child = spawn(process.execPath, [mainFile(), 'serve', '--port', '0', ...args], {
    env: cleanEnv(home.env),
  });
  const result = ended(child);
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (line.startsWith('ready ')) break;
  }
  const origin = lines.at(-1)?.replace('ready ', '');
  if (!origin?.startsWith('http')) throw new Error(`no server: ${(await result).stderr}`);
  return {
    origin,
    lines,
    env: { ...home.env, LANGO_URL: origin },
    child,
    async stop() {
      if (child.exitCode === null) child.kill('SIGTERM');
      return result;
    },
  };
}
