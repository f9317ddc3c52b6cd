import { z } from 'zod';
import type { MemoryStore } from '../../core/memory.js';
import type { Tool } from '../../core/tool.js';
import { defineTool } from '../../core/tool.js';
import type { Keeper } from './keeper.js';
import { MEMORY_TIME_MS } from './lists.js';
import { outsideMark } from './transcript.js';

const TEXT_MAX = 2_000;
const REFLECT_TIME_MS = 150_000;

export function recordTool(memory: MemoryStore): Tool {
  return defineTool({
    name: 'observe_record',
    description:
      'Notes an observation about this conversation: something that happened or that was said and will matter later. One or two sentences. Never a secret.',
    schema: z.strictObject({
      observation: z.string().trim().min(1, 'must not be empty').max(TEXT_MAX).describe('What to note'),
    }),
    effect: 'keyed',
    danger: () => 'safe',
    timeoutMs: () => MEMORY_TIME_MS,
    examples: [
      { text: 'record the observation that {observation}' },
      { text: 'note the observation: {observation}' },
    ],
    async execute({ observation }, { key, tenant, owner, taskId, contextId, hasReadOutside }) {
      await memory.record(
        { tenant, owner },
        {
          id: key,
          agent: 'chronicler',
          contextId,
          text: observation,
          at: Date.now(),
          tasks: [taskId, taskId],
          by: 'chronicler',
          fromOutside: hasReadOutside,
        },
      );
      return { content: `Noted: ${observation}` };
    },
  });
}

export function summarizeTool(keeper: Keeper): Tool {
  return defineTool({
    name: 'reflect_summarize',
    description:
      'Condenses the observations of this user’s conversations that are still open into one reflection, without waiting until there are many.',
    schema: z.strictObject({}),
    // Observations that a reflection stands for are not condensed again.
    effect: 'keyed',
    danger: () => 'safe',
    timeoutMs: () => REFLECT_TIME_MS,
    examples: [{ text: 'reflect on what you observed' }, { text: 'summarize your observations' }],
    async execute(_, { tenant, owner, signal }) {
      const reflection = await keeper.reflectNow({ tenant, owner }, signal);
      if (!reflection) return { content: 'There is nothing to condense: no observation is open.' };
      const { text, by, fromOutside } = reflection;
      return { content: `${text}\n[by ${by}]${outsideMark(fromOutside)}`, fromOutside };
    },
  });
}
