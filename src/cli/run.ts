import { CommanderError } from 'commander';
import { CAPABILITIES } from '../capabilities/index.js';
import { readEnv } from '../config/env.js';
import { parseArgs } from 'node:util';
import { errorText, isLangoError } from '../core/errors.js';
import { EXIT, exitCodeOfError } from '../terminal/exit.js';
import { capabilitiesOf, type CommandContext } from './connection.js';
import type { Act } from './flags.js';
import { createProgram } from './program.js';
import { jsonLine, safeText } from '../terminal/safe-text.js';
import type { Terminal } from '../terminal/terminal.js';
import { createTerminal, printResult, surviveClosedOutput, tameConsole } from '../terminal/terminal.js';

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
    const act: Act = async (command, { json }) => {
      exitCode = printResult(await command(context), json === true, context.terminal);
    };
    const shipped = createProgram(act, CAPABILITIES);
    const word = args[0] ?? '';
    const isShipped = word.startsWith('-') || shipped.commands.some((one) => one.name() === word);
    const program =
      word === '' || (isShipped && word !== 'data')
        ? shipped
        : createProgram(act, await configuredCapabilities(args, context));
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    exitCode = fail(error, args, context.terminal);
  }
  return exitCode;
}

/** The capabilities that the configuration names besides the shipped ones may have commands too. */
function configuredCapabilities(args: readonly string[], { env }: CommandContext) {
  const { values } = parseArgs({ args: [...args], options: PLACES, strict: false });
  const textOf = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined);
  return capabilitiesOf({ env, flags: { home: textOf(values['home']), config: textOf(values['config']) } });
}

const PLACES = { home: { type: 'string' }, config: { type: 'string' } } as const;

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
