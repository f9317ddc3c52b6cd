import { z } from 'zod';
import { LangoError } from '../../../core/errors.js';
import type { JsonObject } from '../../../core/json.js';
import { defineTool, type Tool, type ToolContext, type ToolOutput } from '../../../core/tool.js';
import { BackgroundProcesses, type BackgroundProcess } from './background.js';
import { limitNotes } from './exec.js';
import { COMMAND_FIELDS, describeCommand, needsPerson } from './runner.js';
import { secretsNote, secretsOf, withSecrets } from './runner.js';
import type { ExecOptions, Runner } from './runner.js';

/** The size of the longest UTF-8 character. */
const LIMIT_MIN_BYTES = 4;

const OFFSET = 'output: where to continue, in bytes: nextOffset of the previous result';

const schema = z.strictObject({
  action: z.enum(['start', 'status', 'output', 'stop']),
  ...COMMAND_FIELDS,
  command: COMMAND_FIELDS.command.optional().describe('start: the shell command line'),
  cwd: COMMAND_FIELDS.cwd.describe('start: the working directory, as for exec'),
  env: COMMAND_FIELDS.env.describe('start: additional environment variables, as for exec'),
  changes: COMMAND_FIELDS.changes.describe('start: as for exec'),
  id: z.string().max(64).optional().describe('The id from start. For status, omit it to list all processes'),
  stream: z.enum(['stdout', 'stderr']).optional().describe('output: stdout by default'),
  offset: z.int().min(0).optional().describe(OFFSET),
  limit: z.int().min(LIMIT_MIN_BYTES).optional().describe('output: maximum number of bytes to read'),
});

type Input = z.infer<typeof schema>;

export function backgroundTool(runner: Runner, { sandbox, limits }: ExecOptions): Tool {
  const processes = new BackgroundProcesses();
  const actions: Record<Input['action'], (input: Input, context: ToolContext) => Promise<ToolOutput>> = {
    async start(input, context) {
      context.signal.throwIfAborted();
      const command = required(input, 'command');
      const secrets = secretsOf(input);
      const { id } = await processes.start(context, { command, secrets }, () =>
        runner.start('exec_background', { ...input, command }, context),
      );
      return { content: { id, command, state: 'running', ...secretsNote(secrets) } };
    },
    async status({ id }, context) {
      if (id !== undefined) return { content: describeProcess(processes.require(context, id)) };
      const all = processes.list(context);
      return { content: all.length === 0 ? 'No process was started.' : all.map(describeProcess) };
    },
    async output(input, context) {
      const started = processes.require(context, required(input, 'id'));
      return { content: readOutput(started, input, limits.outputBytes), fromOutside: true };
    },
    async stop(input, context) {
      const started = processes.require(context, required(input, 'id'));
      await started.process.stop();
      return { content: describeProcess(started) };
    },
  };
  return defineTool({
    name: 'exec_background',
    description:
      'Runs a shell command that keeps running (a server, a watcher, a long build). The action "start" returns at once ' +
      'with the id of the process. "status" tells whether it is running, its exit code and the size of its output, and ' +
      'without an id lists all processes. "output" reads its output, beginning at an offset: only the beginning and the ' +
      'end of a long output are kept, and missingBytes is the number of bytes dropped before the text. "stop" stops it ' +
      'together with its child processes; its output stays readable. All processes end when the server ends.',
    schema,
    isRare: true,
    effect: 'unsafe',
    effectOf: ({ action }) => (action === 'start' ? 'unsafe' : action === 'stop' ? 'keyed' : 'pure'),
    danger: ({ action, ...input }) => {
      if (action !== 'start') return action === 'stop' ? 'moderate' : 'safe';
      return sandbox === undefined || needsPerson(input) ? 'dangerous' : 'moderate';
    },
    describe: ({ action, ...input }) =>
      action === 'start' ? `${describeCommand(input)}, in the background` : `${action} a process`,
    secretPlace: 'exec',
    check: async ({ command = '', ...input }, context) =>
      void (await withSecrets({ command, ...input }, context)),
    execute: (input, context) => actions[input.action](input, context),
  });
}

function required(input: Input, name: 'command' | 'id'): string {
  const value = input[name];
  if (value !== undefined) return value;
  throw new LangoError('invalid-input', `${name}: the action "${input.action}" requires it.`);
}

/** Describes a process for a model. */
function describeProcess({ id, command, process, startedAt, end }: BackgroundProcess): JsonObject {
  return {
    id,
    command,
    ...(end ? { state: 'ended', exitCode: end.exitCode } : { state: 'running' }),
    seconds: Math.round(((end?.at ?? Date.now()) - startedAt) / 1000),
    stdoutBytes: process.stdout.totalBytes,
    stderrBytes: process.stderr.totalBytes,
    ...(process.problem() === undefined ? {} : { note: limitNotes(process).join(' ') }),
  };
}

function readOutput(started: BackgroundProcess, input: Input, maxBytes: number): JsonObject {
  const { process, end, secrets } = started;
  const { stream = 'stdout', offset = 0, limit = maxBytes } = input;
  const slice = process[stream].slice(offset, Math.max(Math.min(limit, maxBytes), LIMIT_MIN_BYTES));
  const missingBytes = Math.max(0, slice.offset - offset);
  return {
    [stream]: slice.text,
    ...(missingBytes === 0 ? {} : { missingBytes }),
    nextOffset: slice.nextOffset,
    totalBytes: process[stream].totalBytes,
    state: end === undefined ? 'running' : 'ended',
    ...secretsNote(secrets),
  };
}
