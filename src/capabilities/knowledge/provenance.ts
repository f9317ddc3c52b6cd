import { z } from 'zod';
import type { KnowledgeEntry, KnowledgeStore, NewEntry } from './stores/knowledge.js';
import type { Retrieval } from './rag/retrieval.js';
import type { ToolContext } from '../../core/tool.js';

/** The store of entries and the search over them. */
export interface KnowledgeAccess {
  readonly store: KnowledgeStore;
  readonly retrieval: Retrieval;
}

/** Saves an entry for the owner of the call, with its provenance. Searches find it from then on. */
export async function saveEntry(
  { store, retrieval }: KnowledgeAccess,
  { source, fromOutside, ...entry }: Omit<NewEntry, 'provenance' | 'callKey'> & ProvenanceInput,
  context: ToolContext,
): Promise<KnowledgeEntry> {
  const { tenant, owner, taskId, contextId, key: callKey } = context;
  const isOutside = isFromOutside({ source, fromOutside }, context);
  const provenance = { source, fromOutside: isOutside, taskId, contextId };
  const saved = await store.save({ tenant, owner }, { ...entry, provenance, callKey });
  retrieval.catchUp({ tenant, owner });
  return saved;
}

const ADDRESS = /^https?:\/\//i;

/** The argument by which a model declares that an entry stems from outside. */
export const outsideField = z
  .boolean()
  .optional()
  .describe('True when the content comes from a page, a document or another agent and not from the user');

/** The arguments of a call that state the origin of an entry. */
interface ProvenanceInput {
  readonly fromOutside?: boolean | undefined;
  /** A source that is a URL marks the entry as from outside. */
  readonly source?: string | undefined;
}

/** Whether a new entry is marked as from outside. A model can set the mark but not remove it. */
export function isFromOutside(
  { fromOutside = false, source = '' }: ProvenanceInput,
  { hasReadOutside }: Pick<ToolContext, 'hasReadOutside'>,
): boolean {
  return fromOutside || hasReadOutside || ADDRESS.test(source);
}
