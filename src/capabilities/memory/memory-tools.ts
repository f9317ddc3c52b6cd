import { z } from 'zod';
import type { ToolFamily } from '../../core/tool-family.js';
import { limitField } from '../../core/tool-fields.js';
import { defineTool, type Tool, type ToolOutput } from '../../core/tool.js';
import type { MemoryStore } from './memory-store.js';
import { recall, type RecollectionOptions } from './recollection.js';
import { formatTime, outsideMark } from './transcript.js';
import { MemoryWriter, type MemoryWriterOptions } from './writer.js';

/** Observations and reflections: made after runs, included in later prompts, and listed by tools. */
export function createMemory(
  options: MemoryWriterOptions & RecollectionOptions,
): Pick<ToolFamily, 'tools' | 'memory' | 'close'> {
  const { memory } = options;
  const writer = new MemoryWriter(options);
  return {
    tools: [...listingTools(memory), ...writingTools(memory, writer)],
    memory: {
      recall: (run) => recall(run, options),
      runEnded: (task) => writer.runEnded(task),
    },
    close: () => writer.close(),
  };
}

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 500;

const limit = limitField(`${LIMIT_DEFAULT} by default, newest first`, LIMIT_MAX);

function listingTools(memory: MemoryStore): readonly Tool[] {
  const observations = defineTool({
    name: 'memory_list_observations',
    description:
      'Lists the observations from this user’s conversations, newest first, each with its time, its author and the tasks it comes from.',
    schema: z.strictObject({
      thisConversation: z.boolean().optional().describe('List only the observations of this conversation'),
      limit,
    }),
    effect: 'pure',
    async execute({ thisConversation, limit = LIMIT_DEFAULT }, { tenant, owner, contextId }) {
      const query = { limit, ...(thisConversation ? { contextId } : {}) };
      const found = await memory.observations({ tenant, owner }, query);
      return listOf('observations', found, ({ at, text, by, tasks: [first, last] }) => {
        const range = first === last ? `task ${first}` : `tasks ${first} to ${last}`;
        return `${formatTime(at)}: ${text}  [by ${by}, ${range}]`;
      });
    },
  });
  const reflections = defineTool({
    name: 'memory_list_reflections',
    description:
      'Lists the reflections, which are condensed older observations of this user’s conversations, newest first.',
    schema: z.strictObject({ limit }),
    effect: 'pure',
    async execute({ limit = LIMIT_DEFAULT }, { tenant, owner }) {
      const found = await memory.reflections({ tenant, owner }, limit);
      return listOf(
        'reflections',
        found,
        ({ from, to, text, by }) => `${formatTime(from)} to ${formatTime(to)}: ${text}  [by ${by}]`,
      );
    },
  });
  return [observations, reflections];
}

function listOf<Item extends { readonly fromOutside: boolean }>(
  what: string,
  found: readonly Item[],
  lineOf: (item: Item) => string,
): ToolOutput {
  if (found.length === 0) return { content: `There are no ${what} yet.` };
  const lines = found.map((item) => `${lineOf(item)}${outsideMark(item.fromOutside)}`);
  return { content: lines.join('\n'), fromOutside: found.some(({ fromOutside }) => fromOutside) };
}

const TEXT_MAX = 2_000;
const REFLECT_TIME_MS = 150_000;
const RECORDER = 'chronicler';

function writingTools(memory: MemoryStore, writer: MemoryWriter): readonly Tool[] {
  const record = defineTool({
    name: 'observe_record',
    description:
      'Records an observation about this conversation: something that happened or was said and will matter later. One or two sentences. Never record a secret.',
    schema: z.strictObject({
      observation: z.string().trim().min(1, 'must not be empty').max(TEXT_MAX).describe('The observation'),
    }),
    effect: 'keyed',
    danger: 'safe',
    async execute({ observation: text }, { key: id, tenant, owner, taskId, contextId, hasReadOutside }) {
      const origin = { agent: RECORDER, by: RECORDER, contextId, tasks: [taskId, taskId] } as const;
      const observation = { id, ...origin, text, at: Date.now(), fromOutside: hasReadOutside };
      await memory.record({ tenant, owner }, observation);
      return { content: `Noted: ${text}` };
    },
  });
  const summarize = defineTool({
    name: 'reflect_summarize',
    description:
      'Condenses the open observations of this user’s conversations into one reflection now, without waiting for the threshold.',
    schema: z.strictObject({}),
    // Observations that a reflection covers are not condensed again.
    effect: 'keyed',
    danger: 'safe',
    timeoutMs: REFLECT_TIME_MS,
    async execute(_, { tenant, owner, signal }) {
      const reflection = await writer.reflectNow({ tenant, owner }, signal);
      if (!reflection) return { content: 'There is nothing to condense: no observation is open.' };
      const { text, by, fromOutside } = reflection;
      return { content: `${text}\n[by ${by}]${outsideMark(fromOutside)}`, fromOutside };
    },
  });
  return [record, summarize];
}
