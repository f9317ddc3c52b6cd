import { setImmediate as nextTurn } from 'node:timers/promises';
import { nameKey, type EdgeQuery, type GraphStore, type KnownTriple } from '../stores/graph.js';
import type { Scope } from '../../../core/task.js';

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
