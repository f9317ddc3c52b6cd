import { z } from 'zod';
import { LangoError } from '../../../core/errors.js';
import { textOf } from '../../../core/message.js';
import { NOTHING_RECALLED, type Recollection, type Run } from '../../../core/run.js';
import type { Scope } from '../../../core/task.js';
import { estimateTokens, oneLine } from '../../../core/text.js';
import { abortable, Deadline } from '../../../core/time.js';
import { textField } from '../../../core/tool-fields.js';
import { defineTool, type Tool, type ToolContext, type ToolOutput } from '../../../core/tool.js';
import { saveEntry, outsideField, type KnowledgeAccess } from '../provenance.js';
import type { Retrieval } from '../rag/retrieval.js';
import { searchTool } from '../search/index.js';
import { nameKey } from '../stores/graph.js';
import { COLLECTIONS } from '../stores/library.js';

/** Selects the facts in a search. */
const FACTS = { only: [COLLECTIONS.fact] };
const FACT_MAX_LENGTH = 1_000;
const MATCHES_MAX = 20;

/** The tools that remember facts, separately for each owner. */
export function createFactTools(knowledge: KnowledgeAccess): readonly Tool[] {
  const store = defineTool({
    name: 'memory_store',
    description:
      'Remembers a fact about or for this user across all of their conversations, as one self-contained sentence. Never store a secret.',
    schema: z.strictObject({
      fact: textField('The fact, in one sentence that can be understood on its own', FACT_MAX_LENGTH),
      fromOutside: outsideField,
    }),
    effect: 'keyed',
    danger: 'safe',
    async execute({ fact, fromOutside }, context) {
      const text = oneLine(fact);
      const passages = [{ text, start: 0, end: text.length, lines: undefined, heading: [] }];
      const identity = { kind: 'fact', key: factKey(fact), category: 'fact' } as const;
      const entry = { ...identity, content: text, tags: [], passages, fromOutside };
      const { version } = await saveEntry(knowledge, entry, context);
      return { content: version === 1 ? `Remembered: ${text}` : `This fact was already remembered: ${text}` };
    },
  });
  const recall = searchTool(knowledge.retrieval, {
    name: 'memory_recall',
    description: 'Finds remembered facts of this user, the best match first, in any language.',
    filter: FACTS,
  });
  const forgetting = defineTool({
    name: 'memory_forget',
    description:
      'Deletes a fact permanently: the fact with exactly these words, or the only fact that contains all of them. If several facts match, lists them and deletes none.',
    schema: z.strictObject({
      fact: textField('The fact, in the words in which it was stored', FACT_MAX_LENGTH).optional(),
      query: textField('Words that only this fact contains', FACT_MAX_LENGTH).optional(),
    }),
    effect: 'keyed',
    danger: 'moderate',
    async execute({ fact, query }, context) {
      const words = fact ?? query;
      if (words === undefined || (fact !== undefined && query !== undefined))
        throw new LangoError('invalid-input', 'fact, query: give exactly one of the two.');
      return forget(words, knowledge, context);
    },
  });
  return [store, recall, forgetting];
}

async function forget(
  words: string,
  { store, retrieval }: KnowledgeAccess,
  { tenant, owner, signal }: ToolContext,
): Promise<ToolOutput> {
  const scope: Scope = { tenant, owner };
  const exact = await store.get(scope, { kind: 'fact', key: factKey(words) });
  if (exact) return forgotten(exact.content, await store.forget(scope, exact));
  const { hits } = await retrieval.search(scope, { query: words, limit: MATCHES_MAX, ...FACTS }, signal);
  const matching = hits.filter(({ text }) => containsAll(text, words));
  const fromOutside = matching.some(({ facts }) => facts.fromOutside);
  if (matching.length > 1) {
    const head = 'Nothing was forgotten: several facts match. Ask the user which one:';
    const content = [head, ...matching.map(({ text }) => `   > ${text}`)].join('\n');
    return { content, fromOutside };
  }
  const [only] = matching;
  if (!only) return { content: `Nothing was forgotten: no fact matches "${words}".` };
  const versions = await store.forget(scope, { kind: 'fact', key: only.name });
  return { ...forgotten(only.text, versions), fromOutside };
}

/** Reports the outcome of a deletion to the model. */
function forgotten(fact: string, versions: number): ToolOutput {
  return {
    content: versions > 0 ? `Forgotten: ${fact}` : `Nothing was forgotten: "${fact}" was already deleted.`,
  };
}

/** Whether `text` contains all words. A script without spaces is searched as a whole. */
function containsAll(text: string, words: string): boolean {
  const all = nameKey(text);
  return nameKey(factKey(words))
    .split(/[^\p{L}\p{N}\p{M}]+/u)
    .every((word) => all.includes(word));
}

/** The key of a fact: its words without closing punctuation. */
export function factKey(fact: string): string {
  return oneLine(fact).replace(/[\s.!。！]+$/u, '') || oneLine(fact);
}

const QUERY_MAX_LENGTH = 1_000;
const FACTS_MAX = 20;
/** Maximum time that a run waits for the search. */
const SEARCH_MS = 2_000;

/**
 * Finds the facts that match the last message of a person, best first, as many as fit into `promptTokens` (estimated). A delegated
 * run gets none, because its request contains what it needs. Rejects when the search takes too long.
 */
export async function recallFacts(
  run: Run,
  retrieval: Retrieval,
  promptTokens: number,
): Promise<Recollection> {
  const query = textOf(run.inputs.at(-1)?.message.parts ?? [])
    .slice(0, QUERY_MAX_LENGTH)
    .trim();
  if (run.grant.chain.length > 0 || query === '') return NOTHING_RECALLED;
  using deadline = new Deadline(run.signal).expect(SEARCH_MS);
  const search = retrieval.search(run.task, { query, limit: FACTS_MAX, ...FACTS }, deadline.signal);
  // The search itself may ignore the signal.
  const { hits } = await abortable(search, deadline.signal);
  const lines: string[] = [];
  let left = promptTokens;
  let fromOutside = false;
  for (const { text, facts, savedAt } of hits) {
    const day = new Date(savedAt).toISOString().slice(0, 10);
    const line = `- ${day}: ${text}${facts.fromOutside ? ' [from outside]' : ''}`;
    const tokens = estimateTokens(line);
    if (tokens > left) continue;
    left -= tokens;
    fromOutside ||= facts.fromOutside;
    lines.push(line);
  }
  const text = lines.length === 0 ? undefined : ['Remembered facts:', ...lines].join('\n');
  return { text, upTo: undefined, fromOutside };
}
