import { LangoError } from '../core/errors.js';
import type { Entry, EntryKind } from '../core/knowledge.js';
import { KEPT_BY_AGENTS } from '../core/library.js';
import type { MemoryPlace } from '../core/memory.js';
import type { Page } from '../core/retention.js';
import type { Storage } from '../core/store.js';
import type { Scope } from '../core/task.js';

/** One page of a kind, from the place that the page before named. */
type ReadPage = (scope: Scope, after: string) => Promise<Page<unknown>>;

const PAGE = 200;
/** A page of entries ends with the one that makes it so long. */
const PAGE_CHARACTERS = 500_000;

/** What agents and people keep, by kind. */
export function keptPages(storage: Storage): Readonly<Record<string, ReadPage>> {
  const { memory, graph } = storage;
  return {
    knowledge: (scope, after) => entryPage(storage, scope, { kind: 'knowledge', after }),
    learnings: (scope, after) => entryPage(storage, scope, { kind: 'learning', after }),
    facts: (scope, after) => entryPage(storage, scope, { kind: 'fact', after }),
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

interface EntryPlace {
  readonly kind: EntryKind;
  /** The key of the last one before. */
  readonly after: string;
}

/** Every version, the newest of each first. */
async function entryPage({ knowledge }: Storage, scope: Scope, place: EntryPlace): Promise<Page<Entry>> {
  const newest = await knowledge.list(scope, { ...place, limit: PAGE });
  const items: Entry[] = [];
  let length = 0;
  for (const [index, entry] of newest.entries()) {
    const versions = entry.version === 1 ? [entry] : await knowledge.versions(scope, entry, entry.version);
    items.push(...versions);
    length += versions.reduce((sum, { content }) => sum + content.length, 0);
    const isLast = index === newest.length - 1 && newest.length < PAGE;
    if (!isLast && (length > PAGE_CHARACTERS || index === newest.length - 1)) {
      return { items, next: entry.key };
    }
  }
  return { items, next: undefined };
}

/** Of files that were taken in; their text is in the files. */
async function documentPage({ library }: Storage, scope: Scope, after: string): Promise<Page<unknown>> {
  if (!/^\d{0,15}$/.test(after)) throw noPlace();
  const query = { limit: PAGE, except: KEPT_BY_AGENTS, ...(after === '' ? {} : { after }) };
  const { documents, next } = await library.list(scope, query);
  return { items: documents, next };
}

function nextOf(places: readonly MemoryPlace[]): string | undefined {
  const last = places.length < PAGE ? undefined : places.at(-1);
  return last && `${last.at} ${last.id}`;
}

function placeIn(after: string): { readonly before?: MemoryPlace } {
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
