import { z } from 'zod';
import type { JsonObject } from '../../core/json.js';
import { defineTool, type Tool } from '../../core/tool.js';
import type { BackgroundProcesses, BackgroundProcess } from './background.js';
import type { ExecOptions } from './launch.js';
import { COMMAND_FIELDS, withSecrets, type Runner } from './runner.js';

const startSchema = z.strictObject(COMMAND_FIELDS);

export function execStartTool(
  runner: Runner,
  background: BackgroundProcesses,
  { sandbox }: ExecOptions,
): Tool {
  return defineTool({
    name: 'exec_start',
    description:
      'Starts a shell command that keeps running (a server, a watcher, a long build) and returns at once with its id ' +
      'for exec_status, exec_output and exec_stop. The command ends when the server ends.',
    schema: startSchema,
    effect: 'unsafe',
    danger: sandbox === undefined ? 'dangerous' : 'moderate',
    secretPlace: 'exec',
    async execute(input, context) {
      context.signal.throwIfAborted();
      const { id, command } = await background.start(context, input.command, async () =>
        runner.start(await withSecrets(input, context), context),
      );
      return { content: { id, command, state: 'running' } };
    },
  });
}

const statusSchema = z.strictObject({
  id: z.string().max(64).optional().describe('The id from exec_start. Omit it to list all processes'),
});

export function execStatusTool(background: BackgroundProcesses): Tool {
  return defineTool({
    name: 'exec_status',
    description:
      'Reports whether a process started with exec_start is running, its exit code, and the size of its output. ' +
      'Without an id it lists all processes.',
    schema: statusSchema,
    effect: 'pure',
    async execute({ id }, context) {
      if (id !== undefined) return { content: describeProcess(background.require(context, id)) };
      const handles = background.list(context);
      return { content: handles.length === 0 ? 'No process was started.' : handles.map(describeProcess) };
    },
  });
}

/** Describes a process for a model. */
function describeProcess({ id, command, process, startedAt, end }: BackgroundProcess): JsonObject {
  const seconds = Math.round(((end?.at ?? Date.now()) - startedAt) / 1000);
  return {
    id,
    command,
    state: end === undefined ? 'running' : 'ended',
    ...(end === undefined ? {} : { exitCode: end.exitCode }),
    seconds,
    stdoutBytes: process.stdout.totalBytes,
    stderrBytes: process.stderr.totalBytes,
  };
}

/** The size of the longest UTF-8 character. */
const LIMIT_MIN_BYTES = 4;

const outputSchema = z.strictObject({
  id: z.string().max(64).describe('The id from exec_start'),
  stream: z.enum(['stdout', 'stderr']).optional().describe('stdout by default'),
  offset: z
    .number()
    .int()
    .min(0)
    .optional()
    .describe('Where to continue, in bytes: nextOffset of the previous result'),
  limit: z.number().int().min(LIMIT_MIN_BYTES).optional().describe('Maximum number of bytes to read'),
});

export function execOutputTool(background: BackgroundProcesses, { limits }: ExecOptions): Tool {
  return defineTool({
    name: 'exec_output',
    description:
      'Reads the output of a process started with exec_start, beginning at an offset. Only the beginning and the end ' +
      'of a long output are kept; missingBytes is the number of bytes dropped before the text.',
    schema: outputSchema,
    effect: 'pure',
    bringsOutside: true,
    async execute({ id, stream = 'stdout', offset = 0, limit }, context) {
      const { process, end } = background.require(context, id);
      const output = process[stream];
      const maxBytes = Math.min(limit ?? limits.outputBytes, limits.outputBytes);
      const slice = output.slice(offset, Math.max(maxBytes, LIMIT_MIN_BYTES));
      const missingBytes = Math.max(0, slice.offset - offset);
      return {
        content: {
          [stream]: slice.text,
          ...(missingBytes === 0 ? {} : { missingBytes }),
          nextOffset: slice.nextOffset,
          totalBytes: output.totalBytes,
          state: end === undefined ? 'running' : 'ended',
        },
      };
    },
  });
}

const stopSchema = z.strictObject({ id: z.string().max(64).describe('The id from exec_start') });

export function execStopTool(background: BackgroundProcesses): Tool {
  return defineTool({
    name: 'exec_stop',
    description:
      'Stops a process started with exec_start together with its child processes. Its output stays readable.',
    schema: stopSchema,
    effect: 'keyed',
    danger: 'moderate',
    async execute({ id }, context) {
      const handle = background.require(context, id);
      await handle.process.stop();
      return { content: describeProcess(handle) };
    },
  });
}
