import { CommanderError } from 'commander';
import { readEnv } from '../config/env.js';
import { errorText, isLangoError } from '../core/errors.js';
import { EXIT, exitCodeOfError } from './exit.js';
import { createProgram } from './program.js';
import { jsonLine, safeText } from './safe-text.js';
import type { CommandContext, Terminal } from './terminal.js';
import { createTerminal, printResult, surviveClosedOutput, tameConsole } from './terminal.js';

/** The command line program. Resolves with its exit code once all output is written; never rejects. */
export async function run(args: readonly string[]): Promise<number> {
  const env = readEnv();
  const terminal = createTerminal(env);
  surviveClosedOutput(args[0] === 'serve');
  tameConsole();
  const exitCode = await perform(args, { env, terminal });
  await Promise.all([flushed(process.stdout), flushed(process.stderr)]);
  return exitCode;
}

/** Performs one command line. Resolves with the exit code; never rejects. */
export async function perform(args: readonly string[], context: CommandContext): Promise<number> {
  let exitCode: number = EXIT.ok;
  try {
    await createProgram(async (command, { json }) => {
      exitCode = printResult(await command(context), json === true, context.terminal);
    }).parseAsync(args, { from: 'user' });
  } catch (error) {
    exitCode = fail(error, args, context.terminal);
  }
  return exitCode;
}

/** Prints the error of a command: message and hint, and the stack with --debug. Returns the exit code. */
function fail(error: unknown, args: readonly string[], terminal: Terminal): number {
  const { note, notePaint, progress, typed } = terminal;
  // Commander has printed the help already.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  progress.stop();
  const isExpected = isLangoError(error);
  const code = isExpected ? error.code : 'internal';
  const message = isExpected ? error.message : `Something went wrong inside Lango: ${errorText(error)}`;
  const said = isExpected ? error.hint : 'Run the command again with --debug, and report the output.';
  const hint = said === undefined ? undefined : typed(said);
  if (args.includes('--json')) note(jsonLine({ error: { code, message, hint } }));
  else {
    note(`${notePaint.red('error:')} ${safeText(message)}`);
    if (hint !== undefined) note(notePaint.dim(safeText(hint)));
  }
  if (args.includes('--debug') && error instanceof Error) note(safeText(error.stack ?? ''));
  return exitCodeOfError(error);
}

async function flushed(stream: NodeJS.WriteStream): Promise<void> {
  await new Promise<void>((resolve) => stream.write('', () => resolve()));
}
