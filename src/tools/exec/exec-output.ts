import { z } from 'zod';
import { defineTool, type Tool } from '../../core/tool.js';
import type { Background } from './background.js';
import type { ExecOptions } from './options.js';

const ANSWER_TIME_MS = 5_000;
/** So that at least one character fits. */
const LIMIT_MIN_BYTES = 4;

const outputSchema = z.strictObject({
  id: z.string().max(64).describe('The id from exec_start'),
  stream: z.enum(['stdout', 'stderr']).optional().describe('stdout by default'),
  offset: z
    .number()
    .int()
    .min(0)
    .optional()
    .describe('Where to go on, in bytes: nextOffset of the last answer'),
  limit: z.number().int().min(LIMIT_MIN_BYTES).optional().describe('How many bytes to read at most'),
});

export function execOutputTool(background: Background, { limits }: ExecOptions): Tool {
  return defineTool({
    name: 'exec_output',
    description:
      'Reads what a process started with exec_start wrote, from an offset on. Only the beginning and the newest ' +
      'part of a long output are kept; missingBytes says how much before the text is gone.',
    schema: outputSchema,
    effect: 'pure',
    danger: () => 'safe',
    bringsOutside: true,
    timeoutMs: () => ANSWER_TIME_MS,
    examples: [{ text: 'show the output of process {id}' }],
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
