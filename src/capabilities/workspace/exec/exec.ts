import { z } from 'zod';
import { Deadline } from '../../../core/time.js';
import { defineTool, type Tool } from '../../../core/tool.js';
import { COMMAND_FIELDS, describeCommand, needsPerson } from './runner.js';
import { secretsNote, secretsOf, withSecrets } from './runner.js';
import type { Command, ExecOptions, Runner } from './runner.js';

/** Added to the time limit, so that this tool reports the output of a command before the loop aborts the call. */
const TIMEOUT_MARGIN_MS = 10_000;
/** Exit code of a command that exceeds its CPU limit: 128 + SIGXCPU. */
const CPU_LIMIT_EXIT_CODE = 152;
/** Exit code of a command that exceeds the size of a file: 128 + SIGXFSZ. */
const FILE_LIMIT_EXIT_CODE = 153;

const FORWARDER_ADVICE =
  ' To send a secret that the command never sees: curl --unix-socket "$LANGO_HTTP" ' +
  "http://HOST/PATH -H 'Authorization: Bearer {{secret:NAME:http}}'.";

export function execTool(runner: Runner, { limits, sandbox, openForwarder }: ExecOptions): Tool {
  const seconds = (input: { readonly timeoutSeconds?: number | undefined }) =>
    Math.min(input.timeoutSeconds ?? limits.timeoutSeconds, limits.timeoutSeconds);
  return defineTool({
    name: 'exec',
    description:
      'Runs a shell command and returns its exit code, stdout and stderr. It has no terminal and no input. For one that ' +
      'should keep running, use exec_background.' +
      (openForwarder ? FORWARDER_ADVICE : ''),
    schema: z.strictObject({
      ...COMMAND_FIELDS,
      timeoutSeconds: z.number().positive().optional().describe('The server has a limit'),
    }),
    effect: 'unsafe',
    danger: (input) => (sandbox === undefined || needsPerson(input) ? 'dangerous' : 'moderate'),
    describe: describeCommand,
    bringsOutside: true,
    timeoutMs: (input) => seconds(input) * 1000 + TIMEOUT_MARGIN_MS,
    secretPlace: 'exec',
    check: async (input, context) => void (await withSecrets(input, context)),
    async execute(input, context) {
      const { signal } = context;
      signal.throwIfAborted();
      const child = await runner.start('exec', input, context);
      const timeoutSeconds = seconds(input);
      using deadline = new Deadline(signal).expect(timeoutSeconds * 1000);
      deadline.signal.addEventListener('abort', () => void child.stop());
      if (signal.aborted) void child.stop();
      const { exitCode } = await child.ended;
      signal.throwIfAborted();
      const isTimeout = deadline.hasPassed;
      const notes = [
        isTimeout && `stopped after its time limit of ${timeoutSeconds} s`,
        exitCode === CPU_LIMIT_EXIT_CODE && `stopped by the limit of ${limits.cpuSeconds} s CPU time`,
        exitCode === FILE_LIMIT_EXIT_CODE && 'stopped because a file reached the maximum size',
        ...limitNotes(child),
      ].filter((note) => note !== false);
      const advice = 'write it to a file and read that in parts';
      return {
        content: {
          exitCode,
          stdout: child.stdout.text(advice),
          stderr: child.stderr.text(advice),
          ...(notes.length === 0 ? {} : { note: notes.join('; ') }),
          ...secretsNote(secretsOf(input)),
        },
        // Models notice a failure more reliably by this flag than by the exit code.
        isError: exitCode !== 0 || isTimeout || child.problem() !== undefined,
      };
    },
  });
}

/** The limit of the disk or of memory that ended a command, for the model. */
export function limitNotes(command: Command): readonly string[] {
  const problem = command.problem();
  return problem === undefined ? [] : [`stopped: ${problem.message} ${problem.hint}`];
}
