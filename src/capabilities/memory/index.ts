import { defineCapability, type CapabilityContext } from '../../core/capability.js';
import { invalidCursor, type OwnedData } from '../../core/page.js';
import { off, type ToolFamily } from '../../core/tool-family.js';
import { TASKS } from '../../stores/tasks.js';
import type { MemoryPosition, MemoryStore } from './memory-store.js';
import { MEMORY_SENTENCES } from './sentences.js';
import { MEMORY_SETTINGS } from './settings.js';
import { SqlMemoryStore } from './sql-memory-store.js';
import { MEMORY_TABLES } from './tables.js';

/** Observational memory: dated observations of conversations, condensed into reflections (requirement B3). */
export const memory = defineCapability({
  name: 'memory',
  settings: MEMORY_SETTINGS,
  tables: MEMORY_TABLES,
  sentences: MEMORY_SENTENCES,
  open(context) {
    const store = new SqlMemoryStore(context.database);
    return { ownedData: ownedMemory(store), families: async () => [await openFamily(store, context)] };
  },
});

const NAME = 'observational memory';

async function openFamily(
  store: MemoryStore,
  { settings, services, models, logger }: CapabilityContext<typeof MEMORY_SETTINGS>,
): Promise<ToolFamily> {
  const { observationalMemory } = settings;
  if (!observationalMemory.enabled) return off(NAME, 'observationalMemory.enabled');
  const { createObservationalMemory } = await import('./observational-memory.js');
  const distiller = await models.distiller(observationalMemory.model, 'memory');
  const tasks = services.require(TASKS);
  const own = createObservationalMemory({ ...observationalMemory, memory: store, tasks, distiller, logger });
  const note = `noted by ${distiller?.by ?? 'plain rules (offline model)'}`;
  return { name: NAME, state: 'on', tools: own.tools, note, memory: own.memory, close: () => own.close() };
}

const PAGE = 200;

function ownedMemory(store: MemoryStore): OwnedData {
  return {
    kinds: {
      observations: {
        async list(scope, after) {
          const items = await store.observations(scope, { limit: PAGE, ...cursorOf(after) });
          return { items, next: nextOf(items) };
        },
      },
      reflections: {
        async list(scope, after) {
          const items = await store.reflections(scope, PAGE, cursorOf(after).before);
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

function cursorOf(after: string): { readonly before?: MemoryPosition } {
  if (after === '') return {};
  const [, at, id] = /^(\d{1,15}) (\S+)$/.exec(after) ?? [];
  if (id === undefined) throw invalidCursor();
  return { before: { at: Number(at), id } };
}
