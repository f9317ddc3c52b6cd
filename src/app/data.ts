import type { Config } from '../config/config.js';
import type { HttpRoute } from '../core/http.js';
import type { Journal } from '../core/journal.js';
import type { EntryId } from '../core/knowledge.js';
import { rootAgentName } from '../core/agent.js';
import type { OwnedKind } from '../core/page.js';
import type { Storage } from '../core/store.js';
import type { Scope } from '../core/task.js';
import type { ToolFamily } from '../core/tool.js';
import { createDataRoute } from '../http/data-route.js';
import { factKey } from '../tools/facts/index.js';
import { forgetAll, keptPages } from './kept-data.js';
import { readTasks, removeContextTasks, removeTasks } from './owned-tasks.js';

/** Where `lango data` reads and deletes what is kept for a caller. */
export const DATA_PATH = '/lango/data';

export interface DataParts {
  readonly config: Config;
  readonly storage: Storage;
  readonly journal: Journal;
  /** Some of them keep what is not in the storage. */
  readonly families: readonly ToolFamily[];
}

/** Everything kept for the caller's owner besides secrets and payments. Tasks go first: one that runs could keep more. */
export function dataRoute({ config, storage, journal, families }: DataParts): HttpRoute {
  const { knowledge, graph, memory, retention } = storage;
  const elsewhere = families.flatMap(({ kept }) => kept ?? []);
  const owned = { journal, retention, rootAgentName: rootAgentName(config.agent.multiAgent) };
  return createDataRoute({
    path: DATA_PATH,
    pages: {
      tasks: (scope, after) => readTasks(owned, scope, after),
      ...keptPages(storage),
      ...byKind(elsewhere, (each) => (scope, after) => each.list(scope, after)),
    },
    async remove(scope) {
      const tasks = await removeTasks(owned, scope);
      const kept = await forgetAll(storage, scope);
      const others = await Promise.all(
        elsewhere.map(async (one) => [one.kind, await one.removeAll(scope)] as const),
      );
      await storage.purge();
      return { tasks, ...kept, ...Object.fromEntries(others) };
    },
    forget: {
      async contexts(scope, id) {
        const tasks = await removeContextTasks(owned, scope, id);
        const versions = await knowledge.forgetContext(scope, id);
        const triples = await graph.forgetContext(scope, id);
        const notes = await memory.forgetContext(scope, id);
        await storage.purge();
        return { tasks, versions, triples, notes };
      },
      knowledge: (scope, key) => forgetEntry(storage, scope, { kind: 'knowledge', key }),
      learnings: (scope, key) => forgetEntry(storage, scope, { kind: 'learning', key }),
      facts: (scope, fact) => forgetEntry(storage, scope, { kind: 'fact', key: factKey(fact) }),
      ...byKind(elsewhere, (each) => async (scope, name) => ({
        [each.kind]: await each.remove(scope, name),
      })),
    },
  });
}

function byKind<Way>(kinds: readonly OwnedKind[], toWay: (kind: OwnedKind) => Way): Record<string, Way> {
  return Object.fromEntries(kinds.map((each) => [each.kind, toWay(each)]));
}

async function forgetEntry(storage: Storage, scope: Scope, id: EntryId) {
  const versions = await storage.knowledge.forget(scope, id);
  await storage.purge();
  return { versions };
}
