import { errorText } from '../core/errors.js';
import type { Recollection, Remembering } from '../core/memory.js';
import { NOTHING_RECALLED } from '../core/memory.js';
import type { Retrieval } from '../core/library.js';
import type { Run } from '../core/run.js';
import type { Storage } from '../core/store.js';
import type { ToolFamily } from '../core/tool.js';
import { createFactTools, recallFacts } from '../tools/facts/index.js';
import { createObservationalMemory } from '../tools/memory/index.js';
import type { DistillerSources } from './distiller.js';
import { openDistiller } from './distiller.js';
import { off } from './family-states.js';

export interface MemoryContext extends DistillerSources {
  readonly storage: Storage;
  readonly retrieval: Retrieval;
}

export interface Memory {
  readonly families: readonly ToolFamily[];
  /** Undefined when all of it is switched off. */
  readonly remembering: Remembering | undefined;
}

/** One of the ways to remember. */
interface Part {
  readonly family: ToolFamily;
  readonly remembering?: Remembering;
}

/** Requirement B3: facts, and observations with reflections, each by its switch. */
export async function openMemory(context: MemoryContext): Promise<Memory> {
  const parts = [openFacts(context), await openObservations(context)];
  const ways = parts.flatMap(({ remembering }) => remembering ?? []);
  return {
    families: parts.map(({ family }) => family),
    remembering: ways.length === 0 ? undefined : together(ways),
  };
}

function openFacts({ config, storage, retrieval }: MemoryContext): Part {
  const { enabled, promptTokens } = config.tools.memory;
  if (!enabled) return { family: off('memory') };
  const tools = createFactTools({ store: storage.knowledge, retrieval });
  return {
    family: { name: 'memory', state: 'on', tools },
    remembering: {
      recall: (run) => recallFacts(run, { retrieval, promptTokens }),
      runEnded: () => undefined,
    },
  };
}

async function openObservations(context: MemoryContext): Promise<Part> {
  const { observationalMemory } = context.config;
  const name = 'observational memory';
  if (!observationalMemory.enabled) return { family: off(name, 'observationalMemory.enabled') };
  const { storage, logger } = context;
  const distiller = await openDistiller(context, observationalMemory.model);
  const options = { ...observationalMemory, memory: storage.memory, tasks: storage.tasks, distiller, logger };
  const own = createObservationalMemory(options);
  const note = `noted by ${distiller?.by ?? 'plain rules (offline model)'}`;
  return {
    family: { name, state: 'on', tools: own.tools, note, close: () => own.close() },
    remembering: own.remembering,
  };
}

/** What one of them cannot tell is missing; the others are told all the same. */
function together(ways: readonly Remembering[]): Remembering {
  return {
    async recall(run) {
      const told = await Promise.all(ways.map((way) => recallOrNothing(way, run)));
      const texts = told.flatMap(({ text }) => text ?? []);
      return {
        text: texts.length === 0 ? undefined : texts.join('\n'),
        upTo: told.find(({ upTo }) => upTo !== undefined)?.upTo,
        fromOutside: told.some(({ fromOutside }) => fromOutside),
      };
    },
    runEnded(task) {
      for (const way of ways) way.runEnded(task);
    },
  };
}

async function recallOrNothing(way: Remembering, run: Run): Promise<Recollection> {
  try {
    return await way.recall(run);
  } catch (error) {
    run.logger.warn('nothing was remembered', { error: errorText(error) });
    return NOTHING_RECALLED;
  }
}
