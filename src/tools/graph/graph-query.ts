import { z } from 'zod';
import type { GraphStore } from '../../core/graph.js';
import type { Tool } from '../../core/tool.js';
import { defineTool } from '../../core/tool.js';
import { GRAPH_TIME_MS, tripleLine, patternFields } from './fields.js';

const QUERY_LIMIT_DEFAULT = 50;
const QUERY_LIMIT_MAX = 500;

const querySchema = z.strictObject({
  ...patternFields,
  limit: z.int().min(1).max(QUERY_LIMIT_MAX).optional().describe(`${QUERY_LIMIT_DEFAULT} triples by default`),
});

export function queryTool(graph: GraphStore): Tool {
  return defineTool({
    name: 'graph_query',
    description:
      'Finds triples (subject | predicate | object) of the knowledge graph. Name what you know and leave out what you look for; names match whatever their case. Each line ends with its sources.',
    schema: querySchema,
    effect: 'pure',
    danger: () => 'safe',
    timeoutMs: () => GRAPH_TIME_MS,
    examples: [
      { text: 'what depends on {object}', arguments: { predicate: 'depends on' } },
      { text: 'what does {subject} depend on', arguments: { predicate: 'depends on' } },
      { text: 'who owns {object}', arguments: { predicate: 'owns' } },
      { text: 'what does the graph say about {subject}' },
    ],
    async execute({ limit = QUERY_LIMIT_DEFAULT, ...pattern }, scope) {
      const found = await graph.find(scope, pattern, limit + 1);
      if (found.length === 0) return { content: 'The graph holds no such triple.' };
      const more = found.length > limit ? [`[there are more than ${limit}; name more, or raise limit]`] : [];
      return {
        content: [...found.slice(0, limit).map(tripleLine), ...more].join('\n'),
        fromOutside: found.some(({ fromOutside }) => fromOutside),
      };
    },
  });
}
