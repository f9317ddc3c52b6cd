import { z } from 'zod';
import type { Entry, KnowledgeStore, NewEntry } from '../core/knowledge.js';
import type { Retrieval } from '../core/library.js';
import type { ToolContext } from '../core/tool.js';

/** Where entries are kept, and what finds them. */
export interface KnowledgeAccess {
  readonly store: KnowledgeStore;
  readonly retrieval: Retrieval;
}

type EntryToKeep = Omit<NewEntry, 'provenance' | 'callKey'> & ProvenanceInput;

/** Keeps it for the owner of the call, with where it comes from; searches find it from then on. */
export async function saveEntry(
  { store, retrieval }: KnowledgeAccess,
  { source, fromOutside, ...entry }: EntryToKeep,
  context: ToolContext,
): Promise<Entry> {
  const { tenant, owner, taskId, contextId, key: callKey } = context;
  const provenance = {
    ...(source === undefined ? {} : { source }),
    fromOutside: isFromOutside({ source, fromOutside }, context),
    ...{ taskId, contextId },
  };
  const saved = await store.save({ tenant, owner }, { ...entry, provenance, callKey });
  retrieval.catchUp({ tenant, owner });
  return saved;
}

const ADDRESS = /^https?:\/\//i;

/** By which a model says so itself, for tools that keep something. */
export function outsideField() {
  return z
    .boolean()
    .optional()
    .describe('True when it stems from a page, a document or another agent and not from the user');
}

/** What somebody asks to keep, as far as it tells where it comes from. */
export interface ProvenanceInput {
  readonly fromOutside?: boolean | undefined;
  /** Whatever is kept from an address stems from outside. */
  readonly source?: string | undefined;
}

/** Whether what is kept now carries the mark. A model can set it, and cannot leave it out. */
export function isFromOutside(
  { fromOutside = false, source = '' }: ProvenanceInput,
  { hasReadOutside }: Pick<ToolContext, 'hasReadOutside'>,
): boolean {
  return fromOutside || hasReadOutside || ADDRESS.test(source);
}
