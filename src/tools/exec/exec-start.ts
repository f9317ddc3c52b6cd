import { z } from 'zod';
import { defineTool, type Tool } from '../../core/tool.js';
import type { Background } from './background.js';
import type { ExecOptions } from './options.js';
import { COMMAND_FIELDS, type Runner } from './runner.js';
import { withSecrets } from './secret-variables.js';

const START_TIME_MS = 15_000;

const startSchema = z.strictObject(COMMAND_FIELDS);

export function execStartTool(runner: Runner, background: Background, { sandbox }: ExecOptions): Tool {
  return defineTool({
    name: 'exec_start',
    description:
      'Starts a shell command that goes on running (a server, a watcher, a long build) and answers at once with ' +
      'its id, for exec_status, exec_output and exec_stop. It ends when the server ends.',
    schema: startSchema,
    effect: 'unsafe',
    danger: () => (sandbox === undefined ? 'dangerous' : 'moderate'),
    timeoutMs: () => START_TIME_MS,
    secretPlace: 'exec',
    examples: [{ text: 'start {command} in the background' }, { text: 'run {command} in the background' }],
    async execute(input, context) {
      context.signal.throwIfAborted();
      const { id, command } = await background.start(context, input.command, async () =>
        runner.start(await withSecrets(input, context), context),
      );
      return { content: { id, command, state: 'running' } };
    },
  });
}
