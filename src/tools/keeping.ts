import type { Entry, KnowledgeStore, NewEntry } from '../core/knowledge.js';
import type { Retrieval } from '../core/retrieval.js';
import type { ToolContext } from '../core/tool.js';
import type { Kept } from './outside.js';
import { carriesMark } from './outside.js';

/** Where entries are kept, and what finds them. */
export interface Keeping {
  readonly store: KnowledgeStore;
  readonly retrieval: Retrieval;
}

type EntryToKeep = Omit<NewEntry, 'provenance' | 'callKey'> & Kept;

/** Keeps it for the owner of the call, with where it comes from; searches find it from then on. */
export async function keepEntry(
  { store, retrieval }: Keeping,
  { source, fromOutside, ...entry }: EntryToKeep,
  context: ToolContext,
): Promise<Entry> {
  const { tenant, owner, taskId, contextId, key: callKey } = context;
  const provenance = {
    ...(source === undefined ? {} : { source }),
    fromOutside: carriesMark({ source, fromOutside }, context),
    ...{ taskId, contextId },
  };
  const saved = await store.save({ tenant, owner }, { ...entry, provenance, callKey });
  retrieval.catchUp({ tenant, owner });
  return saved;
}
