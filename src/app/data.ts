import type { Config } from '../config/config.js';
import type { Journal } from '../core/journal.js';
import type { EntryKind, Entry } from '../core/knowledge.js';
import type { DocumentRecord } from '../core/library.js';
import { KEPT_BY_AGENTS } from '../core/library.js';
import type { HttpRoute } from '../core/http.js';
import { rootAgentName } from '../core/roster.js';
import type { Storage } from '../core/store.js';
import type { Scope } from '../core/task.js';
import { createDataRoute } from '../http/data-route.js';
import { readTasks, removeTasks } from './owned-tasks.js';

/** Where `lango data` reads and deletes what is kept for a caller. */
export const DATA_PATH = '/lango/data';

const KINDS: readonly EntryKind[] = ['knowledge', 'learning', 'fact'];
const PAGE = 200;
/** More than this of one kind is not read back at once. */
const MOST = 100_000;

export interface DataParts {
  readonly config: Config;
  readonly storage: Storage;
  readonly journal: Journal;
}

/** Everything kept for the caller's owner besides secrets and payments. */
export function dataRoute({ config, storage, journal }: DataParts): HttpRoute {
  const owned = {
    ...{ journal, retention: storage.retention },
    rootAgentName: rootAgentName(config.agent.multiAgent),
  };
  return createDataRoute({
    path: DATA_PATH,
    read: (scope) => readAll(storage, scope),
    readTasks: (scope, after) => readTasks(owned, scope, after),
    // The tasks first: one that still runs could keep something more.
    remove: async (scope) => ({
      tasks: await removeTasks(owned, scope),
      ...(await removeAll(storage, scope)),
    }),
  });
}

async function readAll(storage: Storage, scope: Scope) {
  const [knowledge, learnings, facts] = await Promise.all(
    KINDS.map((kind) => entriesOf(storage, scope, kind)),
  );
  return {
    knowledge,
    learnings,
    facts,
    documents: await documentsOf(storage, scope),
    graph: await storage.graph.find(scope, {}, MOST),
    observations: await storage.memory.observations(scope, { limit: MOST }),
    reflections: await storage.memory.reflections(scope, MOST),
  };
}

/** Resolves with how many of each are gone. Asked again after a failure, it goes on where it ended. */
async function removeAll(storage: Storage, scope: Scope) {
  const [knowledge, learnings, facts] = await Promise.all(
    KINDS.map(async (kind) => {
      const entries = await entriesOf(storage, scope, kind);
      await Promise.all(entries.map(({ key }) => storage.knowledge.forget(scope, { kind, key })));
      return entries.length;
    }),
  );
  let documents = 0;
  for (const { name } of await storage.library.collections(scope)) {
    documents += await storage.library.remove(scope, name);
  }
  const graph = await storage.graph.remove(scope, {});
  const memory = await storage.memory.forgetAll(scope);
  return { knowledge, learnings, facts, documents, graph, memory };
}

/** The newest version of each. */
async function entriesOf({ knowledge }: Storage, scope: Scope, kind: EntryKind): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  for (;;) {
    const after = entries.at(-1)?.key;
    const page = await knowledge.list(scope, {
      kind,
      limit: PAGE,
      ...(after === undefined ? {} : { after }),
    });
    entries.push(...page);
    if (page.length < PAGE) return entries;
  }
}

/** Of files that were taken in; their text is in the files. */
async function documentsOf({ library }: Storage, scope: Scope): Promise<readonly DocumentRecord[]> {
  const documents: DocumentRecord[] = [];
  let after: string | undefined;
  do {
    const query = { limit: PAGE, except: KEPT_BY_AGENTS, ...(after === undefined ? {} : { after }) };
    const page = await library.list(scope, query);
    documents.push(...page.documents);
    after = page.next;
  } while (after !== undefined);
  return documents;
}
