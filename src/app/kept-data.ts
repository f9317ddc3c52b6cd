import { LangoError } from '../core/errors.js';
import type { EntryKind } from '../core/knowledge.js';
import { KEPT_BY_AGENTS } from '../core/library.js';
import type { MemoryCursor } from '../core/memory.js';
import type { Chunk, Page } from '../core/page.js';
import { pageBySize } from '../core/page.js';
import type { Storage } from '../core/store.js';
import type { Scope } from '../core/task.js';

/** One page of a kind, from the place that the page before named. */
type ReadPage = (scope: Scope, after: string) => Promise<Page<unknown>>;

const PAGE = 200;

/** What agents and people keep, by kind. */
export function keptPages(storage: Storage): Readonly<Record<string, ReadPage>> {
  const { memory, graph } = storage;
  return {
    knowledge: entryPages(storage, 'knowledge'),
    learnings: entryPages(storage, 'learning'),
    facts: entryPages(storage, 'fact'),
    documents: (scope, after) => documentPage(storage, scope, after),
    graph: (scope, after) => graph.list(scope, after, PAGE),
    async observations(scope, after) {
      const items = await memory.observations(scope, { limit: PAGE, ...placeIn(after) });
      return { items, next: nextOf(items) };
    },
    async reflections(scope, after) {
      const items = await memory.reflections(scope, PAGE, placeIn(after).before);
      return { items, next: nextOf(items.map(({ id, to }) => ({ id, at: to }))) };
    },
  };
}

function entryPages(storage: Storage, kind: EntryKind): ReadPage {
  return (scope, after) => pageBySize(after, (place) => entryBite(storage, scope, { kind, after: place }));
}

/** Resolves with how many of each are gone. Asked again after a failure, it goes on where it ended. */
export async function forgetAll(storage: Storage, scope: Scope) {
  const { library, graph, memory } = storage;
  const knowledge = await forgetEntries(storage, scope, 'knowledge');
  const learnings = await forgetEntries(storage, scope, 'learning');
  const facts = await forgetEntries(storage, scope, 'fact');
  let documents = 0;
  for (;;) {
    const page = await library.list(scope, { limit: PAGE });
    if (page.documents.length === 0) break;
    for (const [collection, members] of Map.groupBy(page.documents, (one) => one.collection)) {
      documents += await library.remove(
        scope,
        collection,
        members.map(({ origin }) => origin),
      );
    }
  }
  return {
    ...{ knowledge, learnings, facts, documents },
    graph: await graph.remove(scope, {}),
    memory: await memory.forgetAll(scope),
  };
}

async function forgetEntries({ knowledge }: Storage, scope: Scope, kind: EntryKind): Promise<number> {
  let forgotten = 0;
  for (;;) {
    const entries = await knowledge.list(scope, { kind, limit: PAGE });
    if (entries.length === 0) return forgotten;
    await Promise.all(entries.map((entry) => knowledge.forget(scope, entry)));
    forgotten += entries.length;
  }
}

/** One version, the oldest of each entry first. */
async function entryBite({ knowledge }: Storage, scope: Scope, place: EntryPlace): Promise<Chunk> {
  const { kind, after } = place;
  const [, version, key] = /^(\d{1,9}) (.*)$/s.exec(after) ?? [];
  if (after !== '' && key === undefined) throw noPlace();
  const query = key === undefined ? { limit: 1 } : { limit: 1, after: { key, version: Number(version) } };
  const [entry] = await knowledge.history(scope, kind, query);
  if (!entry) return { items: [], size: 0, next: undefined };
  return { items: [entry], size: entry.content.length, next: `${entry.version} ${entry.key}` };
}

interface EntryPlace {
  readonly kind: EntryKind;
  readonly after: string;
}

/** Of files that were taken in; their text is in the files. */
async function documentPage({ library }: Storage, scope: Scope, after: string): Promise<Page<unknown>> {
  if (!/^\d{0,15}$/.test(after)) throw noPlace();
  const query = { limit: PAGE, except: KEPT_BY_AGENTS, ...(after === '' ? {} : { after }) };
  const { documents, next } = await library.list(scope, query);
  return { items: documents, next };
}

function nextOf(places: readonly MemoryCursor[]): string | undefined {
  const last = places.length < PAGE ? undefined : places.at(-1);
  return last && `${last.at} ${last.id}`;
}

function placeIn(after: string): { readonly before?: MemoryCursor } {
  if (after === '') return {};
  const [, at, id] = /^(\d{1,15}) (\S+)$/.exec(after) ?? [];
  if (id === undefined) throw noPlace();
  return { before: { at: Number(at), id } };
}

function noPlace(): LangoError {
  return new LangoError('invalid-input', 'That is no place in this list.', {
    hint: 'Begin again without "after".',
  });
}
