import { z } from 'zod';
import type { JsonObject } from '../../core/json.js';
import { defineTool, type Tool } from '../../core/tool.js';
import type { Background, Handle } from './background.js';

const ANSWER_TIME_MS = 5_000;

const statusSchema = z.strictObject({
  id: z.string().max(64).optional().describe('The id from exec_start; all processes when left out'),
});

export function execStatusTool(background: Background): Tool {
  return defineTool({
    name: 'exec_status',
    description:
      'Tells whether a process started with exec_start still runs, its exit code, and how much it wrote. ' +
      'Without an id it lists all of them.',
    schema: statusSchema,
    effect: 'pure',
    danger: () => 'safe',
    timeoutMs: () => ANSWER_TIME_MS,
    examples: [{ text: 'show the running processes' }, { text: 'is process {id} still running' }],
    async execute({ id }, context) {
      if (id !== undefined) return { content: describeHandle(background.require(context, id)) };
      const handles = background.list(context);
      return { content: handles.length === 0 ? 'No process was started.' : handles.map(describeHandle) };
    },
  });
}

/** What a model should know of a process. */
export function describeHandle({ id, command, process, startedAt, end }: Handle): JsonObject {
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
