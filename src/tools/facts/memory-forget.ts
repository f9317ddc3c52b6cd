import { z } from 'zod';
import { LangoError } from '../../core/errors.js';
import { entryKey } from '../../core/knowledge.js';
import type { Scope } from '../../core/task.js';
import type { Tool, ToolContext, ToolOutput } from '../../core/tool.js';
import { defineTool } from '../../core/tool.js';
import type { Keeping } from '../keeping.js';
import { FACT_TIME_MS, factField, factKey, queryField } from './fact.js';
import { amongFacts } from './recollection.js';

const LOOKED_AT = 20;

export function memoryForgetTool(options: Keeping): Tool {
  return defineTool({
    name: 'memory_forget',
    description:
      'Forgets a fact for good: the one with these words, else the only one that holds all of them. When there are several it lists them and forgets none.',
    schema: z.strictObject({
      fact: factField('The fact, in the words it was remembered with').optional(),
      query: queryField('Words that only this fact holds').optional(),
    }),
    effect: 'keyed',
    danger: () => 'moderate',
    timeoutMs: () => FACT_TIME_MS,
    examples: [
      { text: 'forget that {fact}' },
      { text: 'forget the fact that {fact}' },
      { text: 'forget the fact about {query}' },
      { text: 'forget what you remember about {query}' },
    ],
    async execute({ fact, query }, context) {
      const words = fact ?? query;
      if (words === undefined || (fact !== undefined && query !== undefined)) {
        throw new LangoError('invalid-input', 'Name either the fact or a query.');
      }
      return forget(words, options, context);
    },
  });
}

async function forget(
  words: string,
  { store, retrieval }: Keeping,
  { tenant, owner, signal }: ToolContext,
): Promise<ToolOutput> {
  const scope: Scope = { tenant, owner };
  const exact = await store.get(scope, { kind: 'fact', key: factKey(words) });
  if (exact) return forgotten(exact.content, await store.forget(scope, exact));
  const { hits } = await retrieval.search(scope, amongFacts(words, LOOKED_AT), signal);
  const matching = hits.filter(({ text }) => holdsAll(text, words));
  const fromOutside = matching.some(({ facts }) => facts.fromOutside);
  if (matching.length > 1) {
    const lines = matching.map(({ text }) => `   > ${text}`);
    const content = ['Nothing was forgotten: several facts match. Which of them?', ...lines].join('\n');
    return { content, fromOutside };
  }
  const [only] = matching;
  if (!only) return { content: `Nothing was forgotten: no fact matches "${words}".` };
  const versions = await store.forget(scope, { kind: 'fact', key: only.name });
  return { ...forgotten(only.text, versions), fromOutside };
}

/** In the words of whoever asked, unless they asked by others. */
function forgotten(fact: string, versions: number): ToolOutput {
  return {
    content: versions > 0 ? `Forgotten: ${fact}` : `Nothing was forgotten: "${fact}" is gone already.`,
  };
}

/** Scripts without spaces are looked for as a whole. */
function holdsAll(text: string, words: string): boolean {
  const all = entryKey(text);
  return entryKey(factKey(words))
    .split(/[^\p{L}\p{N}\p{M}]+/u)
    .every((word) => all.includes(word));
}
