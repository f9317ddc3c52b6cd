import { isLangoError } from '../core/errors.js';
import type { OwnerClient } from './client.js';
import type { ResultOf } from './operations.js';

type Trace = ResultOf<'readTrace'>;
type Span = Trace['spans'][number];

/** Finds the node of an agent by its name here; undefined for one that is not told who asks. */
export type NodeOf = (agent: string) => Promise<OwnerClient> | undefined;

/** Tasks on other nodes that one reading asks for. */
const MAX_ASKED = 50;
const MAX_SPANS = 5_000;

/**
 * Adds the spans of tasks on other nodes below the delegations that began them. A node that does not answer, or does not
 * show its task to the owner, adds nothing. `levels`: how many nodes may ask each other in turn.
 */
export async function withChildrenElsewhere(trace: Trace, nodeOf: NodeOf, levels: number): Promise<Trace> {
  const here = new Set(trace.spans.map(({ attributes }) => attributes['lango.task']));
  const asked = trace.spans.flatMap((span) => {
    const taskId = span.attributes['lango.child.task'];
    const client = nodeOf(String(span.attributes['gen_ai.agent.name']));
    return levels > 0 && typeof taskId === 'string' && !here.has(taskId) && client
      ? { span, taskId, client }
      : [];
  });
  const read = asked.slice(0, MAX_ASKED).map(async ({ span, taskId, client }) => {
    try {
      const below = await (await client).readTrace({ taskId, levels: levels - 1 });
      return { parent: span.id, below };
    } catch (error) {
      if (isLangoError(error)) return undefined;
      throw error;
    }
  });
  const ids = new Set(trace.spans.map(({ id }) => id));
  const spans = [...trace.spans];
  let isCut = trace.isCut;
  for (const answer of (await Promise.all(read)).filter((one) => one !== undefined)) {
    spans.push(...treeBelow(answer.parent, answer.below.spans, ids));
    isCut ||= answer.below.isCut;
  }
  return { ...trace, spans: spans.slice(0, MAX_SPANS), isCut: isCut || spans.length > MAX_SPANS };
}

/** The first span below `parent`, and those that hang on it. Another node may send any ids: each counts once. */
function treeBelow(parent: string, [top, ...rest]: readonly Span[], ids: Set<string>): readonly Span[] {
  if (!top || ids.has(top.id)) return [];
  const own = new Set([top.id]);
  ids.add(top.id);
  const below = rest.filter((span) => {
    if (ids.has(span.id) || span.parent === undefined || !own.has(span.parent)) return false;
    own.add(span.id);
    ids.add(span.id);
    return true;
  });
  return [{ ...top, parent }, ...below];
}
