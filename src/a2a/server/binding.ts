import type { A2ARequestHandler } from '@a2a-js/sdk/server';
import type { Streaming } from './streaming.js';

/** What a protocol binding answers with: one agent's operations, and the node's way to stream. */
export interface Binding {
  readonly handler: A2ARequestHandler;
  readonly streaming: Streaming;
}
