import { z } from 'zod';
import { countField } from '../../../core/tool-fields.js';
import type { GraphStore } from '../stores/graph.js';
import { defineTool, type Tool } from '../../../core/tool.js';
import { nameField, patternFields, tripleLine } from './fields.js';
import { traverse } from './traversal.js';

const QUERY_LIMIT_DEFAULT = 50;
const QUERY_LIMIT_MAX = 500;

const querySchema = z.strictObject({
  ...patternFields,
  limit: countField(`${QUERY_LIMIT_DEFAULT} triples by default`, QUERY_LIMIT_MAX),
});

export function queryTool(graph: GraphStore): Tool {
  return defineTool({
    name: 'graph_query',
    description:
      'Finds triples (subject | predicate | object) in the knowledge graph. Give the known parts and omit the parts to find. Names match regardless of case. Each line ends with its sources.',
    schema: querySchema,
    effect: 'pure',
    async execute({ limit = QUERY_LIMIT_DEFAULT, ...pattern }, scope) {
      const found = await graph.find(scope, pattern, limit + 1);
      if (found.length === 0) return { content: 'The graph contains no such triple.' };
      const more =
        found.length > limit
          ? [`[there are more than ${limit} triples; give more parts, or raise limit]`]
          : [];
      return {
        content: [...found.slice(0, limit).map(tripleLine), ...more].join('\n'),
        fromOutside: found.some(({ fromOutside }) => fromOutside),
      };
    },
  });
}

const DEPTH_DEFAULT = 2;
const DEPTH_MAX = 6;
const PREDICATES_MAX = 20;
const TRAVERSE_LIMIT_DEFAULT = 100;
const TRAVERSE_LIMIT_MAX = 1_000;

const traverseSchema = z.strictObject({
  start: nameField('The node to start at'),
  maxDepth: countField(`Maximum number of steps; ${DEPTH_DEFAULT} by default`, DEPTH_MAX),
  predicates: z
    .array(nameField('A relation'))
    .min(1)
    .max(PREDICATES_MAX)
    .optional()
    .describe('Follow only these relations'),
  direction: z
    .enum(['out', 'in', 'both'])
    .optional()
    .describe('out: from subject to object; in: from object to subject; both by default'),
  limit: countField(`${TRAVERSE_LIMIT_DEFAULT} triples by default`, TRAVERSE_LIMIT_MAX),
});

export function traverseTool(graph: GraphStore): Tool {
  return defineTool({
    name: 'graph_traverse',
    description:
      'Traverses the knowledge graph from a node and returns the triples on the way with their distance. Visits each node once, so cycles end.',
    schema: traverseSchema,
    effect: 'pure',
    async execute(input, { signal, tenant, owner }) {
      const {
        start,
        predicates,
        direction = 'both',
        maxDepth = DEPTH_DEFAULT,
        limit = TRAVERSE_LIMIT_DEFAULT,
      } = input;
      const scope = { tenant, owner };
      const found = await traverse(graph, { scope, start, maxDepth, predicates, direction, limit, signal });
      if (found.steps.length === 0) return { content: `No triple in the graph leads on from "${start}".` };
      const more = found.isCut
        ? [`[stopped at ${limit} triples; follow fewer relations, or raise limit]`]
        : [];
      const lines = found.steps.map(({ depth, triple }) => `${depth}: ${tripleLine(triple)}`);
      return {
        content: [...lines, ...more].join('\n'),
        fromOutside: found.steps.some(({ triple }) => triple.fromOutside),
      };
    },
  });
}
