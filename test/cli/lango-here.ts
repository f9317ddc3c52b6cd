import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { perform } from '../../src/cli/run.js';
import type { Streams } from '../../src/terminal/terminal.js';
import { createTerminal } from '../../src/terminal/terminal.js';
import { readEnv } from '../../src/config/env.js';
import type { Result, Start } from './lango-process.js';
import { cleanEnv } from './lango-process.js';

/**
 * Runs a `lango` command in this process, as a process of its own takes most of the time of a command. Use it to test
 * results and output; for the program itself (its input, signals and help) start the real one.
 */
export async function langoHere(
  args: readonly string[],
  { env, onNote }: Omit<Start, 'input'> & { readonly onNote?: (note: string) => void } = {},
): Promise<Result> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  if (onNote) stderr.on('data', (chunk) => onNote(String(chunk)));
  const said = Promise.all([text(stdout), text(stderr)]);
  const variables = readEnv(cleanEnv(env));
  // There is no terminal, as when a program is started with pipes.
  const terminal = createTerminal(variables, { stdin, stdout, stderr } as unknown as Streams);
  const code = await perform(args, { env: variables, terminal });
  stdin.end();
  stdout.end();
  stderr.end();
  const [out, notes] = await said;
  return { code, stdout: out, stderr: notes };
}
