import { isLangoError } from '../core/errors.js';
import type { OperationClient, ResultOf } from '../core/operation.js';
import type { ServerOperations } from './operations.js';

type Trace = ResultOf<ServerOperations['readTrace']>;
type Span = Trace['spans'][number];

/** Finds the node of an agent by its name here; undefined when requests to the node do not name the owner. */
export type FindNode = (agent: string) =>
  | {
      readonly url: string;
      readonly client: () => Promise<Pick<OperationClient<ServerOperations>, 'readTrace'>>;
    }
  | undefined;

/** Tasks on other nodes that one reading asks for. */
const MAX_ASKED = 50;
const MAX_SPANS = 10_000;

/**
 * Adds the spans of tasks on other nodes below the delegations that began them. A node that does not respond, or does
 * not show its task to the owner, adds nothing. The span of a task on another node has its address in `lango.node.url`.
 * The address that a node says of one behind it is in `lango.node.claimed_url`, unless this node knows it to be that
 * of the agent: any node can send any address under any name.
 * `levels`: the longest chain of nodes that ask each other.
 */
export async function withChildrenElsewhere(
  trace: Trace,
  findNode: FindNode,
  levels: number,
): Promise<Trace> {
  const here = new Set(trace.spans.map(({ attributes }) => attributes['lango.task']));
  const asked = trace.spans.flatMap((span) => {
    const taskId = span.attributes['lango.child.task'];
    const node = findNode(String(span.attributes['gen_ai.agent.name']));
    return levels > 0 && typeof taskId === 'string' && !here.has(taskId) && node
      ? { span, taskId, node }
      : [];
  });
  const read = asked.slice(0, MAX_ASKED).map(async ({ span, taskId, node }) => {
    try {
      const client = await node.client();
      const below = await client.readTrace({ taskId, levels: levels - 1 });
      return { parent: span.id, url: node.url, below };
    } catch (error) {
      if (isLangoError(error)) return undefined;
      throw error;
    }
  });
  const ids = new Set(trace.spans.map(({ id }) => id));
  const spans = [...trace.spans];
  let isCut = trace.isCut;
  for (const { parent, url, below } of (await Promise.all(read)).filter((one) => one !== undefined)) {
    const [top, ...rest] = treeBelow(below.spans, ids);
    if (top)
      spans.push(
        { ...top, parent, attributes: { ...top.attributes, 'lango.node.url': url } },
        ...rest.map((span) => withClaim(span, findNode)),
      );
    isCut ||= below.isCut;
  }
  return { ...trace, spans: spans.slice(0, MAX_SPANS), isCut: isCut || spans.length > MAX_SPANS };
}

function withClaim(span: Span, findNode: FindNode): Span {
  const { 'lango.node.url': url, ...attributes } = span.attributes;
  if (url === undefined || findNode(String(attributes['gen_ai.agent.name']))?.url === url) return span;
  return { ...span, attributes: { ...attributes, 'lango.node.claimed_url': url } };
}

/** Returns the first span and its descendants. Another node may send any ids, so each id counts once. */
function treeBelow([top, ...rest]: readonly Span[], ids: Set<string>): readonly Span[] {
  if (!top || ids.has(top.id)) return [];
  const own = new Set([top.id]);
  ids.add(top.id);
  const below = rest.filter((span) => {
    if (ids.has(span.id) || span.parent === undefined || !own.has(span.parent)) return false;
    own.add(span.id);
    ids.add(span.id);
    return true;
  });
  return [top, ...below];
}
