import { z } from 'zod';
import { MAX_NODE_NAME } from './map.js';
import { percentiles } from './overview.js';

/** The facts that a node shows of its agents and its tasks: over its own routes, in its console and in traces. */

/** A line of `lango agents`. */
export const agentState = z.object({
  name: z.string(),
  kind: z.enum(['local', 'remote']),
  url: z.string().optional(),
  /**
   * `ready`: used. `degraded`: used, but its last check or call failed. `open`: gets no new work until it responds, since
   * its calls failed. `held`: not used, since its card is not the one that was accepted. `skipped`: cannot be used.
   */
  state: z.enum(['ready', 'degraded', 'open', 'held', 'skipped']),
  /** The time of the last change of state (ISO 8601). */
  since: z.string().optional(),
  reason: z.string().optional(),
  hint: z.string().optional(),
  description: z.string().optional(),
  skills: z.array(z.object({ name: z.string() })).readonly(),
});
export type AgentState = Readonly<z.output<typeof agentState>>;

/** A defect of an agent card. */
export const cardFinding = z.object({
  /** `error`: the card violates the A2A specification. `warning`: it helps a foreign orchestrator little. */
  severity: z.enum(['error', 'warning']),
  /** The place in the card, as in `skills[0].tags`; empty for the card as a whole. The subject of `text`. */
  path: z.string(),
  /** One sentence: the fault, why it matters, and what to write instead. */
  text: z.string(),
});
export type CardFinding = Readonly<z.output<typeof cardFinding>>;

const attribute = z.union([z.string(), z.number(), z.array(z.string()).readonly()]);
export type Attribute = z.output<typeof attribute>;
export type Attributes = Readonly<Record<string, Attribute>>;

/**
 * A unit of work, read from the journal. Names and attributes follow OpenTelemetry's semantic conventions for GenAI,
 * version 1.41.0; attributes of Lango itself begin with `lango.`. Contains texts of people and models only on request.
 */
const span = z.object({
  /** Derived from the ids of the task and the step, so that each reading gives the same id. */
  id: z.string(),
  /** Absent for the root of a `TaskTrace`, and for a task whose request named no trace. */
  parent: z.string().exactOptional(),
  kind: z.enum(['server', 'client', 'internal']),
  name: z.string(),
  /** Milliseconds since the epoch. */
  startedAt: z.number(),
  /** Absent until the work ends. */
  endedAt: z.number().exactOptional(),
  attributes: z.record(z.string(), attribute),
});
export type Span = Readonly<z.output<typeof span>>;

export const taskTrace = z.object({
  traceId: z.string(),
  spans: z.array(span).readonly(), // Each span comes after its parent.
  isCut: z.boolean(), // Whether spans are left out, because there are too many.
});
export type TaskTrace = Readonly<z.output<typeof taskTrace>>;

/** The tasks that one agent asked of another one, in a time. */
export const mapEdge = z.object({
  /** Empty for people and for clients that are no agents. */
  from: z.string(),
  /** The id of the node of `from`, when that is another one. */
  fromNode: z.string().exactOptional(),
  ...{ to: z.string(), calls: z.number(), failed: z.number() },
  /** The milliseconds from the request to its end. Absent while none has ended. */
  time: percentiles.exactOptional(),
});
export type MapEdge = Readonly<z.output<typeof mapEdge>>;

/** A node by the name that people read; `url` where this node asks it. */
export const knownNode = z.object({
  ...{ id: z.string().max(300), name: z.string().max(MAX_NODE_NAME) },
  url: z.string().max(2_000).exactOptional(),
});
export type KnownNode = Readonly<z.output<typeof knownNode>>;
