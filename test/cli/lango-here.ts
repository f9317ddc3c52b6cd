import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { perform } from '../../src/cli/run.js';
import type { Streams } from '../../src/terminal/terminal.js';
import { createTerminal } from '../../src/terminal/terminal.js';
import { createApp } from '../../src/app.js';
import { readEnv } from '../../src/config/env.js';
import { loadConfig } from '../../src/config/load.js';
import { silentLogger } from '../../src/core/logger.js';
import type { Home, Result, Server, Start } from './lango-process.js';
import { cleanEnv, lango, startServer, untilPeersAsked } from './lango-process.js';

/**
 * Runs a `lango` command in this process, as a process of its own takes most of the time of a command. Use it to test
 * results and output; for the program itself (its signals and help, and that it reads a pipe) start the real one. Of
 * concurrent commands only one may have input. With LANGO_TEST_BUNDLE each command is the real program, from the bundle.
 */
export async function langoHere(args: readonly string[], start: Start = {}): Promise<Result> {
  if (process.env['LANGO_TEST_BUNDLE']) return lango(args, start);
  const { env, input, onNote } = start;
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  if (onNote) stderr.on('data', (chunk) => onNote(String(chunk)));
  const said = Promise.all([text(stdout), text(stderr)]);
  const variables = readEnv(cleanEnv(env));
  // There is no terminal, as when a program is started with pipes.
  const terminal = createTerminal(variables, { stdin, stdout, stderr } as unknown as Streams);
  using _given = input === undefined ? undefined : giveInput(stdin.end(input));
  const code = await perform(args, { env: variables, terminal });
  stdout.end();
  stderr.end();
  const [out, notes] = await said;
  return { code, stdout: out, stderr: notes };
}

export interface ServerHere extends Pick<Server, 'origin' | 'env'> {
  stop(): Promise<unknown>;
}

/**
 * Starts the server that `lango serve` starts with this home, in this process: a process of its own takes half a second
 * of CPU. Use it where commands are tested; for the server's signals, output and death start the real one.
 */
export async function startServerHere(home: Home): Promise<ServerHere> {
  if (process.env['LANGO_TEST_BUNDLE']) return startServer(home);
  const loaded = await loadConfig({ env: readEnv(cleanEnv(home.env)), overrides: { port: 0 } });
  const app = createApp({ ...loaded, logger: silentLogger });
  const { origin } = await app.start();
  return { origin, env: { ...home.env, LANGO_URL: origin }, stop: () => app.stop() };
}

/** Like `startServerHere`, and waits until the server has requested the cards of its remote agents. */
export async function startWithPeers(home: Home): Promise<ServerHere> {
  const server = await startServerHere(home);
  await untilPeersAsked(server.origin, await readFile(path.join(home.folder, 'token'), 'utf8'));
  return server;
}

/** Commands read the input of the process. */
function giveInput(input: PassThrough): Disposable {
  const own = Object.getOwnPropertyDescriptor(process, 'stdin')!;
  Object.defineProperty(process, 'stdin', { value: input, configurable: true });
  return { [Symbol.dispose]: () => void Object.defineProperty(process, 'stdin', own) };
}
