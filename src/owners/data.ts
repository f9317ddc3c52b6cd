import { LangoError } from '../core/errors.js';
import type { EntryId, EntryKind } from '../capabilities/knowledge/stores/knowledge.js';
import { AGENT_COLLECTIONS } from '../capabilities/knowledge/stores/library.js';
import type { MemoryPosition } from '../capabilities/memory/memory-store.js';
import { type OwnedKind, type Page, type SizedPage, pageBySize } from '../core/page.js';
import type { Storage } from '../stores/storage.js';
import type { Scope } from '../core/task.js';
import type { OwnedTasks } from './tasks.js';

/** The number of entries by kind. */
type Counts = Readonly<Record<string, number>>;

/** Everything kept for an owner besides secrets and payments, by kind. Kinds that do not exist are `not-found`. */
export interface OwnedData {
  readonly kinds: readonly string[];
  /** Reads one page. `after` is the `next` of the page before; '' for the first page. */
  read(scope: Scope, kind: string, after: string): Promise<Page<unknown>>;
  /** Resolves with the numbers of deleted entries. Rejects with `not-found` when there were none. */
  forget(scope: Scope, kind: string, name: string): Promise<Counts>;
  /** Resolves with the numbers of deleted entries. Called again after a failure, it deletes the rest. */
  removeAll(scope: Scope): Promise<Counts>;
}

export interface OwnedDataParts {
  readonly storage: Storage;
  readonly tasks: OwnedTasks;
  /** The data that tool families keep outside of the storage. */
  readonly otherKinds: readonly OwnedKind[];
  /** The key under which a fact is kept. */
  readonly factKey: (fact: string) => string;
}

type ReadPage = (scope: Scope, after: string) => Promise<Page<unknown>>;
type Forget = (scope: Scope, name: string) => Promise<Counts>;

const PAGE = 200;

export function createOwnedData({ storage, tasks, otherKinds, factKey }: OwnedDataParts): OwnedData {
  const pages: Readonly<Record<string, ReadPage>> = {
    tasks: (scope, after) => tasks.read(scope, after),
    ...storedPages(storage),
    ...byKind(otherKinds, (each) => (scope, after) => each.list(scope, after)),
  };
  const forgetting: Readonly<Record<string, Forget>> = {
    contexts: (scope, id) => forgetContext({ storage, tasks }, scope, id),
    knowledge: (scope, key) => forgetEntry(storage, scope, { kind: 'knowledge', key }),
    learnings: (scope, key) => forgetEntry(storage, scope, { kind: 'learning', key }),
    facts: (scope, fact) => forgetEntry(storage, scope, { kind: 'fact', key: factKey(fact) }),
    ...byKind(otherKinds, (each) => async (scope, name) => ({
      [each.kind]: await each.remove(scope, name),
    })),
  };
  return {
    kinds: Object.keys(pages),
    read: async (scope, kind, after) => requireKind(pages, kind)(scope, after),
    async forget(scope, kind, name) {
      const counts = await requireKind(forgetting, kind)(scope, name);
      if (Object.values(counts).some((count) => count > 0)) return counts;
      throw new LangoError('not-found', 'You have no data of that name.');
    },
    async removeAll(scope) {
      // Removes tasks first: a running task could save more data.
      const removed = await tasks.removeAll(scope);
      const stored = await removeStored(storage, scope);
      const others = await Promise.all(
        otherKinds.map(async (one) => [one.kind, await one.removeAll(scope)] as const),
      );
      await storage.purge();
      return { tasks: removed, ...stored, ...Object.fromEntries(others) };
    },
  };
}

function byKind<Value>(
  kinds: readonly OwnedKind[],
  toValue: (kind: OwnedKind) => Value,
): Record<string, Value> {
  return Object.fromEntries(kinds.map((each) => [each.kind, toValue(each)]));
}

function requireKind<Found>(kinds: Readonly<Record<string, Found>>, kind: string): Found {
  const found = Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
  if (found !== undefined) return found;
  const hint = `Kinds: ${Object.keys(kinds).join(', ')}.`;
  throw new LangoError('not-found', 'There is no such kind of data here.', { hint });
}

/** Makes a page reader for each kind of data in the storage. */
function storedPages(storage: Storage): Readonly<Record<string, ReadPage>> {
  const { memory, graph } = storage;
  return {
    knowledge: entryPages(storage, 'knowledge'),
    learnings: entryPages(storage, 'learning'),
    facts: entryPages(storage, 'fact'),
    documents: (scope, after) => readDocuments(storage, scope, after),
    graph: (scope, after) => graph.list(scope, after, PAGE),
    async observations(scope, after) {
      const items = await memory.observations(scope, { limit: PAGE, ...cursorOf(after) });
      return { items, next: nextOf(items) };
    },
    async reflections(scope, after) {
      const items = await memory.reflections(scope, PAGE, cursorOf(after).before);
      return { items, next: nextOf(items.map(({ id, to }) => ({ id, at: to }))) };
    },
  };
}

/** Reads one version at a time, because each may be large; the oldest version of each entry first. */
function entryPages({ knowledge }: Storage, kind: EntryKind): ReadPage {
  return (scope, after) =>
    pageBySize(after, async (cursor): Promise<SizedPage> => {
      const [, version, key] = /^(\d{1,9}) (.*)$/s.exec(cursor) ?? [];
      if (cursor !== '' && key === undefined) throw invalidCursor();
      const query = key === undefined ? { limit: 1 } : { limit: 1, after: { key, version: Number(version) } };
      const [entry] = await knowledge.history(scope, kind, query);
      if (!entry) return { items: [], size: 0, next: undefined };
      return { items: [entry], size: entry.content.length, next: `${entry.version} ${entry.key}` };
    });
}

/** Lists the records of ingested files, without their text. */
async function readDocuments({ library }: Storage, scope: Scope, after: string): Promise<Page<unknown>> {
  if (!/^\d{0,15}$/.test(after)) throw invalidCursor();
  const query = { limit: PAGE, except: AGENT_COLLECTIONS, ...(after === '' ? {} : { after }) };
  const { documents, next } = await library.list(scope, query);
  return { items: documents, next };
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

function invalidCursor(): LangoError {
  return new LangoError('invalid-input', '"after" is not the "next" of a page of this list.', {
    hint: 'Start again without "after".',
  });
}

async function forgetContext(
  { storage, tasks }: Pick<OwnedDataParts, 'storage' | 'tasks'>,
  scope: Scope,
  id: string,
): Promise<Counts> {
  const { knowledge, graph, memory } = storage;
  const counts = {
    tasks: await tasks.removeContext(scope, id),
    versions: await knowledge.forgetContext(scope, id),
    triples: await graph.forgetContext(scope, id),
    notes: await memory.forgetContext(scope, id),
  };
  await storage.purge();
  return counts;
}

async function forgetEntry(storage: Storage, scope: Scope, id: EntryId): Promise<Counts> {
  const versions = await storage.knowledge.forget(scope, id);
  await storage.purge();
  return { versions };
}

async function removeStored(storage: Storage, scope: Scope): Promise<Counts> {
  const { graph, memory } = storage;
  return {
    knowledge: await removeEntries(storage, scope, 'knowledge'),
    learnings: await removeEntries(storage, scope, 'learning'),
    facts: await removeEntries(storage, scope, 'fact'),
    documents: await removeDocuments(storage, scope),
    graph: await graph.remove(scope, {}),
    memory: await memory.forgetAll(scope),
  };
}

async function removeEntries({ knowledge }: Storage, scope: Scope, kind: EntryKind): Promise<number> {
  for (let removed = 0; ;) {
    const entries = await knowledge.list(scope, { kind, limit: PAGE });
    if (entries.length === 0) return removed;
    await Promise.all(entries.map((entry) => knowledge.forget(scope, entry)));
    removed += entries.length;
  }
}

async function removeDocuments({ library }: Storage, scope: Scope): Promise<number> {
  for (let removed = 0; ;) {
    const { documents } = await library.list(scope, { limit: PAGE });
    if (documents.length === 0) return removed;
    for (const [collection, members] of Map.groupBy(documents, (one) => one.collection)) {
      const origins = members.map(({ origin }) => origin);
      removed += await library.remove(scope, collection, origins);
    }
  }
}
