import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { LangoError } from '../../../core/errors.js';
import type { Scope } from '../../../core/task.js';
import { counted } from '../../../core/text.js';
import { limitField } from '../../../core/tool-fields.js';
import { defineTool, type Tool } from '../../../core/tool.js';
import { isFromOutside, outsideField } from '../provenance.js';
import { nameKey, type EdgeQuery, type GraphStore, type KnownTriple, type Triple } from '../stores/graph.js';

export const NAME_MAX = 500;
export const TRIPLES_MAX = 200;

/** A name in the graph. An empty or blank name is refused. */
function nameField(description: string): z.ZodString {
  return z.string().trim().min(1, 'must not be empty').max(NAME_MAX).describe(description);
}

/** The optional parts of a triple pattern. */
const patternFields = {
  subject: nameField('What the statement is about').optional(),
  predicate: nameField('The relation, such as "depends on"').optional(),
  object: nameField('What the subject is related to').optional(),
};

/** The tools of the knowledge graph: triples with their sources, separately for each owner. */
export function createGraphTools(graph: GraphStore): readonly Tool[] {
  return [...readingTools(graph), addTool(graph), removeTool(graph)];
}

const QUERY_LIMIT_DEFAULT = 50;
const QUERY_LIMIT_MAX = 500;
const DEPTH_DEFAULT = 2;
const DEPTH_MAX = 6;
const PREDICATES_MAX = 20;
const TRAVERSE_LIMIT_DEFAULT = 100;
const TRAVERSE_LIMIT_MAX = 1_000;

function readingTools(graph: GraphStore): readonly Tool[] {
  const query = defineTool({
    name: 'graph_query',
    description:
      'Finds triples (subject | predicate | object) in the knowledge graph. Give the known parts and omit the parts to find. Names match regardless of case. Each line ends with its sources.',
    schema: z.strictObject({
      ...patternFields,
      limit: limitField(`${QUERY_LIMIT_DEFAULT} triples by default`, QUERY_LIMIT_MAX),
    }),
    effect: 'pure',
    async execute({ limit = QUERY_LIMIT_DEFAULT, ...pattern }, scope) {
      const found = await graph.find(scope, pattern, limit + 1);
      if (found.length === 0) return { content: 'The graph contains no such triple.' };
      const lines = found.slice(0, limit).map(tripleLine);
      if (found.length > limit)
        lines.push(`[there are more than ${limit} triples; give more parts, or raise limit]`);
      return { content: lines.join('\n'), fromOutside: found.some(({ fromOutside }) => fromOutside) };
    },
  });
  const traversal = defineTool({
    name: 'graph_traverse',
    description:
      'Traverses the knowledge graph from a node and returns the triples on the way with their distance. Visits each node once, so cycles end.',
    schema: z.strictObject({
      start: nameField('The node to start at'),
      maxDepth: limitField(`Maximum number of steps; ${DEPTH_DEFAULT} by default`, DEPTH_MAX),
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
      limit: limitField(`${TRAVERSE_LIMIT_DEFAULT} triples by default`, TRAVERSE_LIMIT_MAX),
    }),
    effect: 'pure',
    async execute({ maxDepth = DEPTH_DEFAULT, limit = TRAVERSE_LIMIT_DEFAULT, ...input }, scope) {
      const { start, predicates, direction = 'both' } = input;
      const walk = { scope, start, maxDepth, predicates, direction, limit, signal: scope.signal };
      const { steps, isCut } = await traverse(graph, walk);
      if (steps.length === 0) return { content: `No triple in the graph leads on from "${start}".` };
      const lines = steps.map(({ depth, triple }) => `${depth}: ${tripleLine(triple)}`);
      if (isCut) lines.push(`[stopped at ${limit} triples; follow fewer relations, or raise limit]`);
      return { content: lines.join('\n'), fromOutside: steps.some(({ triple }) => triple.fromOutside) };
    },
  });
  return [query, traversal];
}

const triple = z.strictObject({
  subject: nameField('What the statement is about'),
  predicate: nameField('The relation'),
  object: nameField('What the subject is related to'),
});

const addSchema = z.strictObject({
  ...patternFields,
  triples: z
    .array(triple)
    .min(1)
    .max(TRIPLES_MAX)
    .optional()
    .describe('Several triples, instead of a single one'),
  source: nameField('The source of the statement; this task by default').optional(),
  fromOutside: outsideField,
});

function addTool(graph: GraphStore): Tool {
  return defineTool({
    name: 'graph_add',
    description:
      'Adds one triple (subject, predicate, object) or a list of triples to the knowledge graph, with their source. A known triple is not added again.',
    schema: addSchema,
    // The graph is a set, so adding a known triple changes nothing.
    effect: 'keyed',
    danger: 'moderate',
    async execute(input, context) {
      const { taskId, contextId } = context;
      const { source = `task ${taskId}` } = input;
      const fromOutside = isFromOutside(input, context);
      const triples = triplesOf(input);
      const stated = triples.map((one) => ({ ...one, source, fromOutside, contextId }));
      const added = await graph.add(context, stated);
      const known = triples.length - added;
      const rest = known === 0 ? '' : `, ${known} known already`;
      return { content: `Added ${counted(added, 'triple')}${rest}. Source: ${source}.` };
    },
  });
}

function triplesOf({ subject, predicate, object, triples }: z.infer<typeof addSchema>): readonly Triple[] {
  const single = triple.safeParse({ subject, predicate, object });
  const isSingle = subject !== undefined || predicate !== undefined || object !== undefined;
  if (triples && !isSingle) return triples;
  if (!triples && single.success) return [single.data];
  const text = 'subject, predicate, object: all three are required, or a list of triples in triples.';
  throw new LangoError('invalid-input', text, {
    hint: 'Pass subject, predicate and object, or only triples.',
  });
}

function removeTool(graph: GraphStore): Tool {
  return defineTool({
    name: 'graph_remove',
    description:
      'Removes triples from the knowledge graph: those that match all given parts, or all triples from one source.',
    schema: z.strictObject({
      ...patternFields,
      source: nameField('Remove everything that comes from this source, instead of a pattern').optional(),
    }),
    // Removing a triple again changes nothing.
    effect: 'keyed',
    danger: 'moderate',
    async execute({ source, ...pattern }, scope) {
      const isNamed = Object.values(pattern).some((name) => name !== undefined);
      if (isNamed === (source !== undefined))
        throw new LangoError('invalid-input', 'Give either parts of a triple or a source.', {
          hint: 'Pass subject, predicate or object, or only source. Nothing was removed.',
        });
      const removed =
        source === undefined ? await graph.remove(scope, pattern) : await graph.removeSource(scope, source);
      return { content: removed === 0 ? 'Nothing matched.' : `Removed ${counted(removed, 'triple')}.` };
    },
  });
}

/** Describes a triple on one line, with its sources. */
function tripleLine({ subject, predicate, object, sources, fromOutside }: KnownTriple): string {
  const mark = fromOutside ? ', from outside' : '';
  return `${subject} | ${predicate} | ${object}  [${sources.join('; ')}${mark}]`;
}

/** `limit`: the most triples. */
interface TraversalOptions extends EdgeQuery {
  readonly scope: Scope;
  readonly start: string;
  readonly maxDepth: number;
  readonly signal: AbortSignal;
}

interface Step {
  /** 1 for triples that contain the start node. */
  readonly depth: number;
  readonly triple: KnownTriple;
}

/** A long traversal yields to the event loop after this many nodes. */
const NODES_PER_YIELD = 64;

/**
 * Finds the triples that can be reached from a node, the nearest first. Visits each node and reports each triple once,
 * so cycles end. `isCut`: there are more than `limit`. Rejects with the reason of the signal.
 */
export async function traverse(graph: GraphStore, options: TraversalOptions) {
  const { scope, predicates, direction, limit, signal } = options;
  const steps: Step[] = [];
  const reported = new Set<string>();
  const seen = new Set([nameKey(options.start)]);
  let visited = 0;
  let level: readonly string[] = [options.start];
  for (let depth = 1; depth <= options.maxDepth && level.length > 0; depth += 1) {
    const next: string[] = [];
    for (const node of level) {
      signal.throwIfAborted();
      if (++visited % NODES_PER_YIELD === 0) await nextTurn();
      const edges = await graph.edges(scope, node, { direction, predicates, limit: limit + 1 });
      for (const triple of edges) {
        const key = JSON.stringify([triple.subject, triple.predicate, triple.object]);
        if (reported.has(key)) continue;
        if (steps.length === limit) return { steps, isCut: true };
        reported.add(key);
        steps.push({ depth, triple });
        next.push(...newNodes(triple, seen));
      }
    }
    level = next;
  }
  return { steps, isCut: false };
}

function newNodes({ subject, object }: KnownTriple, seen: Set<string>): readonly string[] {
  return [subject, object].filter((name) => {
    const key = nameKey(name);
    const isNew = !seen.has(key);
    seen.add(key);
    return isNew;
  });
}
