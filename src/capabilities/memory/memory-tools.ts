import { z } from 'zod';
import { NOTHING_RECALLED, type Recollection, type Run } from '../../core/run.js';
import { estimateTokens } from '../../core/text.js';
import type { ToolFamily } from '../../core/tool-family.js';
import { limitField } from '../../core/tool-fields.js';
import { defineTool, type Tool, type ToolOutput } from '../../core/tool.js';
import type { MemoryStore, Observation, Reflection } from './memory-store.js';
import { formatTime, outsideMark, tokensOf } from './transcript.js';
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

interface RecollectionOptions {
  readonly memory: MemoryStore;
  /** Maximum (estimated) tokens of memory in one prompt. */
  readonly promptTokens: number;
}

/** The most observations, and the most reflections, that are read. */
const MAX_READ = 500;
/** The share of the tokens that is reserved for reflections, because open observations alone could fill all of them. */
const REFLECTIONS_SHARE = 1 / 3;

/**
 * Selects the memory that a run for a person begins with: the newest observations that fit, those of this conversation
 * first, and the newest lines of reflections, which replace the observations that they summarize. A delegated run gets
 * none, because its request contains what it needs.
 */
async function recall(run: Run, { memory, promptTokens }: RecollectionOptions): Promise<Recollection> {
  const { task } = run;
  if (run.grant.chain.length > 0) return NOTHING_RECALLED;
  const upTo = await memory.observedUpTo(task, task.agent, task.contextId);
  // Both are read at the same time, so that an observation that is condensed meanwhile appears in one of the two.
  const [open, reflections] = await Promise.all([
    memory.observations(task, { open: true, limit: MAX_READ }),
    memory.reflections(task, MAX_READ),
  ]);
  const isHere = ({ contextId }: Observation) => contextId === task.contextId;
  const noted = (one: Observation) => line(formatTime(one.at), one);
  const here = open.filter(isHere).map(noted);
  const elsewhere = open.filter((one) => !isHere(one)).map(noted);
  const older = reflections.flatMap(linesOf);
  const reserved = takeWithin(Math.floor(promptTokens * REFLECTIONS_SHARE), [older]).flat();
  // In the order of importance, each newest first.
  const [first = [], others = [], more = []] = takeWithin(promptTokens - tokensOf(reserved), [
    here,
    elsewhere,
    older.slice(reserved.length),
  ]);
  const sections = [
    { title: 'Earlier times, condensed', lines: [...reserved, ...more] },
    { title: 'Other conversations with this user', lines: others },
    { title: 'Earlier in this conversation', lines: first },
  ].filter(({ lines }) => lines.length > 0);
  const text = sections
    .flatMap(({ title, lines }) => [`${title}:`, ...lines.map((one) => one.text).reverse()])
    .join('\n');
  const fromOutside = sections.some(({ lines }) => lines.some((one) => one.fromOutside));
  return { text: text === '' ? undefined : text, upTo, fromOutside };
}

interface Line {
  readonly text: string;
  readonly fromOutside: boolean;
}

function line(date: string, { text, fromOutside }: Line): Line {
  return { text: `- ${date}: ${text}${outsideMark(fromOutside)}`, fromOutside };
}

/** The lines of a reflection, each understandable by itself, the newest first. */
function linesOf({ text, to, fromOutside }: Reflection): readonly Line[] {
  const lines = text.split('\n').filter((one) => one.trim() !== '');
  return lines.map((one) => line(`until ${formatTime(to)}`, { text: one, fromOutside })).reverse();
}

/** Takes lines from each list while they fit in the tokens that the lists before it left. */
function takeWithin(tokens: number, lists: readonly (readonly Line[])[]): readonly Line[][] {
  let left = tokens;
  return lists.map((lines) => {
    const taken: Line[] = [];
    for (const one of lines) {
      const cost = estimateTokens(one.text);
      if (cost > left) break;
      left -= cost;
      taken.push(one);
    }
    return taken;
  });
}
