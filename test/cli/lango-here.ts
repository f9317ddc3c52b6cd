import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { perform } from '../../src/cli/run.js';
import type { Streams } from '../../src/terminal/terminal.js';
import { createTerminal } from '../../src/terminal/terminal.js';
import { readEnv } from '../../src/config/env.js';
import type { Result, Start } from './lango-process.js';
import { cleanEnv, lango } from './lango-process.js';

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

/** Commands read the input of the process. */
function giveInput(input: PassThrough): Disposable {
  const own = Object.getOwnPropertyDescriptor(process, 'stdin')!;
  Object.defineProperty(process, 'stdin', { value: input, configurable: true });
  return { [Symbol.dispose]: () => void Object.defineProperty(process, 'stdin', own) };
}
