import type { GuardedHandler } from './operations.js';
import type { Streaming } from './streaming.js';

/** What a protocol binding answers with: one agent's operations, and the node's way to stream. */
export interface Binding {
  readonly handler: GuardedHandler;
  readonly streaming: Streaming;
}
