import { invalidCursor, pageBySize, type OwnedData, type OwnedKind } from '../../core/page.js';
import type { Scope } from '../../core/task.js';
import { factKey } from './facts/index.js';
import type { EntryId, EntryKind } from './stores/knowledge.js';
import { AGENT_COLLECTIONS } from './stores/library.js';
import type { KnowledgeStores } from './stores.js';

const PAGE = 200;

/** The documents, entries and triples of owners. `purge` removes the remains of deleted ones. */
export function ownedKnowledge(stores: KnowledgeStores, purge: () => Promise<void>): OwnedData {
  const { knowledge, graph, library } = stores;
  return {
    kinds: {
      knowledge: entries(stores, 'knowledge'),
      learnings: entries(stores, 'learning'),
      facts: entries(stores, 'fact', factKey),
      /** Lists the records of ingested files, without their text. */
      documents: {
        async list(scope, after) {
          if (!/^\d{0,15}$/.test(after)) throw invalidCursor();
          return library.list(scope, { limit: PAGE, except: AGENT_COLLECTIONS, after });
        },
      },
      graph: { list: (scope, after) => graph.list(scope, after, PAGE) },
    },
    removeAll: async (scope) => ({
      knowledge: await removeEntries(stores, scope, 'knowledge'),
      learnings: await removeEntries(stores, scope, 'learning'),
      facts: await removeEntries(stores, scope, 'fact'),
      documents: await removeDocuments(stores, scope),
      graph: await graph.remove(scope, {}),
    }),
    forgetContext: async (scope, contextId) => ({
      versions: await knowledge.forgetContext(scope, contextId),
      triples: await graph.forgetContext(scope, contextId),
    }),
    purge,
  };
}

/** Lists one version at a time, because each may be large; the oldest version of each entry first. */
function entries(
  { knowledge }: KnowledgeStores,
  kind: EntryKind,
  keyOf = (name: string): EntryId['key'] => name,
): OwnedKind {
  return {
    list: (scope, after) =>
      pageBySize(after, async (cursor) => {
        const [, version = '0', key] = /^(\d{1,9}) (.*)$/s.exec(cursor) ?? [];
        if (cursor !== '' && key === undefined) throw invalidCursor();
        const entry = await knowledge.next(scope, { kind, key: key ?? '' }, Number(version));
        if (!entry) return { items: [], size: 0, next: undefined };
        return { items: [entry], size: entry.content.length, next: `${entry.version} ${entry.key}` };
      }),
    forget: async (scope, name) => ({
      versions: await knowledge.forget(scope, { kind, key: keyOf(name) }),
    }),
  };
}

async function removeEntries({ knowledge }: KnowledgeStores, scope: Scope, kind: EntryKind): Promise<number> {
  for (let removed = 0; ;) {
    const found = await knowledge.list(scope, { kind, limit: PAGE });
    if (found.length === 0) return removed;
    await Promise.all(found.map((entry) => knowledge.forget(scope, entry)));
    removed += found.length;
  }
}

async function removeDocuments({ library }: KnowledgeStores, scope: Scope): Promise<number> {
  for (let removed = 0; ;) {
    const before = removed;
    for (const { name } of await library.collections(scope)) removed += await library.remove(scope, name);
    // A document that came meanwhile is removed too.
    if (removed === before) return removed;
  }
}
