/** The extensions of our cards, by the URIs of their members in `metadata`. See docs/reference/extensions.md. */
export const EXTENSIONS = {
  /** The author of an event, message or artifact, the author's activity, and whether it may stem from outside text. */
  author: 'urn:lango:a2a:author:v1',
  /** `{ seq }` on each event; a subscription with the header `Last-Event-ID: seq` replays from there. */
  cursor: 'urn:lango:a2a:cursor:v1',
  /** On a delegating message: the chain of delegations and the remaining limits, `{ parentTaskId, …grant }`. */
  chain: 'urn:lango:a2a:chain:v1',
  /** Questions and replies as data parts: `{ question }`, `{ answer }`. */
  approval: 'urn:lango:a2a:approval:v1',
  /** The tokens of the task and its sub-tasks, on the final status: `{ input, output, cached, rows }`. */
  usage: 'urn:lango:a2a:usage:v1',
} as const;

/** Asks for `generation` on tasks and events, by the draft of A2A 1.1. Our own peers do without: they have the cursor. */
export const GENERATION = 'urn:lango:a2a:generation:v1';

/** On a task that shares events with another one: `{ taskId, seq }`. */
export const FORK = 'urn:lango:a2a:fork:v1';

/** On a card only: its gRPC interfaces use TLS. */
export const GRPC_TLS = 'urn:lango:a2a:grpc-tls:v1';

export const OUR_EXTENSIONS: readonly string[] = Object.values(EXTENSIONS);
