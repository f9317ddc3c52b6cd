import { z } from 'zod';
import { LangoError } from '../../core/errors.js';
import { nameKey, oneLine } from '../../core/text.js';
import type { Scope } from '../../core/task.js';
import { defineTool, type Tool, type ToolContext, type ToolOutput } from '../../core/tool.js';
import { describeFindings } from '../findings.js';
import { saveEntry, outsideField, type KnowledgeAccess } from '../provenance.js';
import { factSearch, LONGEST_QUERY } from './recollection.js';

export { recallFacts } from './recollection.js';

/** The tools that remember facts, separately for each owner. */
export function createFactTools(options: KnowledgeAccess): readonly Tool[] {
  return [memoryStoreTool(options), memoryRecallTool(options), memoryForgetTool(options)];
}

function memoryStoreTool(knowledge: KnowledgeAccess): Tool {
  return defineTool({
    name: 'memory_store',
    description:
      'Remembers a fact about or for this user across all of their conversations, as one self-contained sentence. Never store a secret.',
    schema: z.strictObject({
      fact: factField('The fact, in one sentence that can be understood on its own'),
      fromOutside: outsideField(),
    }),
    effect: 'keyed',
    danger: 'safe',
    async execute({ fact, fromOutside }, context) {
      const text = oneLine(fact);
      const passages = [{ text, start: 0, end: text.length, lines: undefined, heading: [] }];
      const named = { kind: 'fact', key: factKey(fact), category: 'fact' } as const;
      const entry = { ...named, content: text, tags: [], passages, fromOutside };
      const { version } = await saveEntry(knowledge, entry, context);
      return { content: version === 1 ? `Remembered: ${text}` : `This fact was already remembered: ${text}` };
    },
  });
}

const LIMIT_DEFAULT = 5;
const LIMIT_MAX = 20;

function memoryRecallTool({ retrieval }: KnowledgeAccess): Tool {
  return defineTool({
    name: 'memory_recall',
    description: 'Finds remembered facts of this user, the best match first, in any language.',
    schema: z.strictObject({
      query: queryField('The search terms, in plain words'),
      limit: z.int().min(1).max(LIMIT_MAX).optional().describe(`${LIMIT_DEFAULT} facts by default`),
    }),
    effect: 'pure',
    async execute({ query, limit = LIMIT_DEFAULT }, { tenant, owner, signal }) {
      const found = await retrieval.search({ tenant, owner }, factSearch(query, limit), signal);
      return describeFindings(query, found);
    },
  });
}

const LOOKED_AT = 20;

function memoryForgetTool(options: KnowledgeAccess): Tool {
  return defineTool({
    name: 'memory_forget',
    description:
      'Deletes a fact permanently: the fact with exactly these words, or the only fact that contains all of them. If several facts match, lists them and deletes none.',
    schema: z.strictObject({
      fact: factField('The fact, in the words in which it was stored').optional(),
      query: queryField('Words that only this fact contains').optional(),
    }),
    effect: 'keyed',
    danger: 'moderate',
    async execute({ fact, query }, context) {
      const words = fact ?? query;
      if (words === undefined || (fact !== undefined && query !== undefined)) {
        throw new LangoError('invalid-input', 'fact, query: give exactly one of the two.');
      }
      return forget(words, options, context);
    },
  });
}

async function forget(
  words: string,
  { store, retrieval }: KnowledgeAccess,
  { tenant, owner, signal }: ToolContext,
): Promise<ToolOutput> {
  const scope: Scope = { tenant, owner };
  const exact = await store.get(scope, { kind: 'fact', key: factKey(words) });
  if (exact) return forgotten(exact.content, await store.forget(scope, exact));
  const { hits } = await retrieval.search(scope, factSearch(words, LOOKED_AT), signal);
  const matching = hits.filter(({ text }) => holdsAll(text, words));
  const fromOutside = matching.some(({ facts }) => facts.fromOutside);
  if (matching.length > 1) {
    const lines = matching.map(({ text }) => `   > ${text}`);
    const content = ['Nothing was forgotten: several facts match. Ask the user which one:', ...lines].join(
      '\n',
    );
    return { content, fromOutside };
  }
  const [only] = matching;
  if (!only) return { content: `Nothing was forgotten: no fact matches "${words}".` };
  const versions = await store.forget(scope, { kind: 'fact', key: only.name });
  return { ...forgotten(only.text, versions), fromOutside };
}

/** Repeats the fact in the user's own words when they named it exactly. */
function forgotten(fact: string, versions: number): ToolOutput {
  return {
    content: versions > 0 ? `Forgotten: ${fact}` : `Nothing was forgotten: "${fact}" was already deleted.`,
  };
}

/** Whether `text` contains all words. A script without spaces is searched as a whole. */
function holdsAll(text: string, words: string): boolean {
  const all = nameKey(text);
  return nameKey(factKey(words))
    .split(/[^\p{L}\p{N}\p{M}]+/u)
    .every((word) => all.includes(word));
}

const LONGEST_FACT = 1_000;

/** One line in any script. */
function factField(description: string) {
  return z.string().trim().min(1).max(LONGEST_FACT).describe(description);
}

function queryField(description: string) {
  return z.string().trim().min(1).max(LONGEST_QUERY).describe(description);
}

/** The key of a fact: its words without closing punctuation. */
export function factKey(fact: string): string {
  return oneLine(fact).replace(/[\s.!。！]+$/u, '') || oneLine(fact);
}
