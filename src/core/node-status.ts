/** The facts that a node shows of its agents and its tasks: over its own routes, in its console and in traces. */

/** A line of `lango agents`. */
export interface AgentState {
  readonly name: string;
  readonly kind: 'local' | 'remote';
  readonly url?: string;
  /**
   * `ready`: used. `degraded`: used, but its last check or call failed. `open`: gets no new work until it responds, since
   * its calls failed. `held`: not used, since its card is not the one that was accepted. `skipped`: cannot be used.
   */
  readonly state: 'ready' | 'degraded' | 'open' | 'held' | 'skipped';
  /** The time of the last change of state (ISO 8601). */
  readonly since: string;
  readonly reason?: string;
  readonly hint?: string;
  readonly description?: string;
  readonly skills: readonly { readonly name: string }[];
}

/** A defect of an agent card. */
export interface CardFinding {
  /** `error`: the card violates the A2A specification. `warning`: it helps a foreign orchestrator little. */
  readonly severity: 'error' | 'warning';
  /** The place in the card, as in `skills[0].tags`; empty for the card as a whole. The subject of `text`. */
  readonly path: string;
  /** One sentence: the fault, why it matters, and what to write instead. */
  readonly text: string;
}

export type Attribute = string | number | readonly string[];
export type Attributes = Readonly<Record<string, Attribute>>;

/**
 * A unit of work, read from the journal. Names and attributes follow OpenTelemetry's semantic conventions for GenAI,
 * version 1.41.0; attributes of Lango itself begin with `lango.`. Contains texts of people and models only on request.
 */
export interface Span {
  /** Derived from the ids of the task and the step, so that each reading gives the same id. */
  readonly id: string;
  /** Absent for the root of a `TaskTrace`, and for a task whose request named no trace. */
  readonly parent?: string;
  readonly kind: 'server' | 'client' | 'internal';
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** Absent until the work ends. */
  readonly endedAt?: number;
  readonly attributes: Attributes;
}

export interface TaskTrace {
  readonly traceId: string;
  readonly spans: readonly Span[]; // Each span comes after its parent.
  readonly isCut: boolean; // Whether spans are left out, because there are too many.
}
