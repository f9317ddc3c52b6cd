/** The facts that a node shows of its agents and its tasks: over its own routes, in its console and in traces. */

import { z } from 'zod';
import { MAX_NODE_NAME } from './agent.js';
import { percentiles } from './overview.js';

const [text, number] = [z.string(), z.number()];

/** A line of `lango agents`. */
export const agentStatus = z.object({
  name: text,
  kind: z.enum(['local', 'remote']),
  url: text.optional(),
  /**
   * `ready`: used. `degraded`: used, but its last check or call failed. `open`: gets no new work until it responds, since
   * its calls failed. `held`: not used, since its card is not the one that was accepted. `skipped`: cannot be used.
   */
  state: z.enum(['ready', 'degraded', 'open', 'held', 'skipped']),
  /** The time of the last change of state (ISO 8601). */
  since: text.optional(),
  ...{ reason: text.optional(), hint: text.optional(), description: text.optional() },
  skills: z.array(z.object({ name: text })).readonly(),
});

/** A defect of an agent card. */
export const cardFinding = z.object({
  /** `error`: the card violates the A2A specification. `warning`: it helps a foreign orchestrator little. */
  severity: z.enum(['error', 'warning']),
  /** The place in the card, as in `skills[0].tags`; empty for the card as a whole. The subject of `text`. */
  path: text,
  /** One sentence: the fault, why it matters, and what to write instead. */
  text,
});

/** One fact that a node determines at its start, for its log, its status page and `lango doctor`. */
export const nodeFinding = z.object({
  /** Names the kind of fact, for programs: "no-sandbox". */
  code: text,
  /** The subject of the finding, such as "sandbox". */
  subject: text,
  state: z.enum(['ok', 'warn']),
  /** A sentence without its period. */
  text,
  hint: text.optional(),
});

const familyStatus = z.object({
  name: text,
  state: z.enum(['on', 'off', 'missing']),
  note: text.optional(),
  hint: text.optional(),
});
/** The status of a node: its agents, tool families and findings. */
export const nodeStatus = z.object({
  root: text,
  model: text,
  published: z.array(text).readonly(),
  peers: z.array(agentStatus).readonly(),
  families: z.array(familyStatus).readonly().default([]),
  findings: z.array(nodeFinding).readonly().default([]),
  /** The most that the models of one owner may cost in a day, if that is limited. */
  dailyCost: z.object({ amount: number, currency: text }).optional(),
  /** The bytes that the caller's tasks take in the database, if they are limited. */
  taskUse: z.object({ bytes: number, limit: number }).optional(),
});

/** The tasks that one agent asked of another one, in a time. */
export const mapEdge = z.object({
  /** Empty for people and for clients that are no agents. */
  from: text,
  /** The id of the node of `from`, when that is another one. */
  fromNode: text.exactOptional(),
  ...{ to: text, calls: number, failed: number },
  /** The milliseconds from the request to its end. Absent while none has ended. */
  time: percentiles.exactOptional(),
});

/** A node by the name that people read; `url` where this node asks it. */
export const knownNode = z.object({
  ...{ id: text.max(300), name: text.max(MAX_NODE_NAME) },
  url: text.max(2_000).exactOptional(),
});

/**
 * A unit of work, read from the journal. Names and attributes follow OpenTelemetry's semantic conventions for GenAI,
 * version 1.41.0; attributes of Lango itself begin with `lango.`. Contains texts of people and models only on request.
 */
const span = z.object({
  /** Derived from the ids of the task and the step, so that each reading gives the same id. */
  id: text,
  /** Absent for the root of a `TaskTrace`, and for a task whose request named no trace. */
  parent: text.exactOptional(),
  kind: z.enum(['server', 'client', 'internal']),
  name: text,
  /** Milliseconds since the epoch. */
  startedAt: number,
  /** Absent until the work ends. */
  endedAt: number.exactOptional(),
  attributes: z.record(text, z.union([text, number, z.array(text).readonly()])),
});

export const taskTrace = z.object({
  traceId: text,
  spans: z.array(span).readonly(), // Each span comes after its parent.
  isCut: z.boolean(), // Whether spans are left out, because there are too many.
});

export type AgentStatus = Readonly<z.output<typeof agentStatus>>;
/** The state of an agent that this node knows itself. */
export type AgentState = AgentStatus & { readonly since: string };
export type NodeStatus = Readonly<z.output<typeof nodeStatus>>;
export type CardFinding = Readonly<z.output<typeof cardFinding>>;
export type MapEdge = Readonly<z.output<typeof mapEdge>>;
export type KnownNode = Readonly<z.output<typeof knownNode>>;
export type Span = Readonly<z.output<typeof span>>;
export type TaskTrace = Readonly<z.output<typeof taskTrace>>;
export type Attributes = Readonly<Span['attributes']>;
export type Attribute = Attributes[string];
