import { defineCapability, type CapabilityContext } from '../../core/capability.js';
import { count, flag, group, optional, text } from '../../core/fields.js';
import { invalidCursor, type OwnedData } from '../../core/page.js';
import { off, type ToolFamily } from '../../core/tool-family.js';
import { TASKS } from '../../stores/tasks.js';
import { MemoryStore, type MemoryPosition } from './memory-store.js';
import { MEMORY_TABLES } from './tables.js';

const observationalMemory = group(
  'Automatic memory: dated observations of conversations, condensed into reflections.',
  {
    enabled: flag(
      false,
      'Record observations of conversations after their runs, and add them to the prompts of later runs. With a model, each recording costs a model call. The offline model uses plain rules.',
    ),
    model: optional(
      text(),
      'The model of `model.provider` that observes and condenses. Default: `model.name`.',
    ),
    observeTokens: count(
      6_000,
      'Observations are recorded once a conversation has this many estimated tokens without any.',
    ),
    reflectTokens: count(
      4_000,
      'Observations are condensed into reflections once they have this many tokens.',
    ),
    promptTokens: count(2_000, 'The most tokens of observations and reflections in one prompt.'),
  },
);
const SETTINGS = { observationalMemory };

/** Observational memory: dated observations of conversations, condensed into reflections (requirement B3). */
export const memory = defineCapability({
  name: 'memory',
  settings: SETTINGS,
  tables: MEMORY_TABLES,
  sentences: [
    ['record the observation that {observation...}', 'observe_record'],
    ['list your observations', 'memory_list_observations'],
    ['what have you observed?', 'memory_list_observations'],
    ['reflect on what you observed', 'reflect_summarize'],
    ['list your reflections', 'memory_list_reflections'],
  ],
  open(context) {
    const store = new MemoryStore(context.database);
    return { ownedData: ownedMemory(store), families: async () => [await openFamily(store, context)] };
  },
});

const NAME = 'observational memory';

async function openFamily(
  store: MemoryStore,
  { settings, services, models, logger }: CapabilityContext<typeof SETTINGS>,
): Promise<ToolFamily> {
  const { enabled, model, ...limits } = settings.observationalMemory;
  if (!enabled) return off(NAME, 'observationalMemory.enabled');
  const { createMemory } = await import('./memory-tools.js');
  const distiller = await models.distiller(model, 'memory');
  const options = { ...limits, memory: store, tasks: services.require(TASKS), distiller, logger };
  const note = `noted by ${distiller?.by ?? 'plain rules (offline model)'}`;
  return { name: NAME, state: 'on', note, ...createMemory(options) };
}

const PAGE = 200;

function ownedMemory(store: MemoryStore): OwnedData {
  return {
    kinds: {
      observations: {
        async list(scope, after) {
          const items = await store.observations(scope, { limit: PAGE, before: positionOf(after) });
          return { items, next: nextOf(items) };
        },
      },
      reflections: {
        async list(scope, after) {
          const items = await store.reflections(scope, PAGE, positionOf(after));
          return { items, next: nextOf(items.map(({ id, to }) => ({ id, at: to }))) };
        },
      },
    },
    removeAll: async (scope) => ({ memory: await store.forgetAll(scope) }),
    forgetContext: async (scope, contextId) => ({ notes: await store.forgetContext(scope, contextId) }),
  };
}

function nextOf(items: readonly MemoryPosition[]): string | undefined {
  const last = items.length < PAGE ? undefined : items.at(-1);
  return last && `${last.at} ${last.id}`;
}

function positionOf(after: string): MemoryPosition | undefined {
  if (after === '') return undefined;
  const [, at, id] = /^(\d{1,15}) (\S+)$/.exec(after) ?? [];
  if (id === undefined) throw invalidCursor();
  return { at: Number(at), id };
}
