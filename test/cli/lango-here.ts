import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { perform } from '../../src/cli/run.js';
import type { Streams } from '../../src/terminal/terminal.js';
import { createTerminal } from '../../src/terminal/terminal.js';
import { readEnv } from '../../src/config/env.js';
import type { Result, Start } from './lango-process.js';
import { cleanEnv } from './lango-process.js';

/**
 * What `lango` does, without a process of its own, which takes most of the time of a command: for what commands
 * do and say. Whatever is about the program (its input, its signals, its help) starts the real one.
 */
export async function langoHere(
  args: readonly string[],
  { env, onNote }: Omit<Start, 'input'> & { readonly onNote?: (note: string) => void } = {},
): Promise<Result> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  if (onNote) stderr.on('data', (chunk) => onNote(String(chunk)));
  const said = Promise.all([text(stdout), text(stderr)]);
  const variables = readEnv(cleanEnv(env));
  // No terminal: as when a program is started with pipes.
  const terminal = createTerminal(variables, { stdin, stdout, stderr } as unknown as Streams);
  const code = await perform(args, { env: variables, terminal });
  stdin.end();
  stdout.end();
  stderr.end();
  const [out, notes] = await said;
  return { code, stdout: out, stderr: notes };
}
