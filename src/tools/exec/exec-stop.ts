import { z } from 'zod';
import { defineTool, type Tool } from '../../core/tool.js';
import type { Background } from './background.js';
import { describeHandle } from './exec-status.js';

/** Longer than the grace a process has after SIGTERM. */
const STOP_TIME_MS = 15_000;

const stopSchema = z.strictObject({ id: z.string().max(64).describe('The id from exec_start') });

export function execStopTool(background: Background): Tool {
  return defineTool({
    name: 'exec_stop',
    description:
      'Stops a process started with exec_start, with everything it started. Its output stays readable.',
    schema: stopSchema,
    effect: 'keyed',
    danger: () => 'moderate',
    timeoutMs: () => STOP_TIME_MS,
    examples: [{ text: 'stop process {id}' }, { text: 'stop {id}' }],
    async execute({ id }, context) {
      const handle = background.require(context, id);
      await handle.process.stop();
      return { content: describeHandle(handle) };
    },
  });
}
