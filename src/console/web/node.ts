import { signal } from '@preact/signals';
import { owner } from './api.js';

export interface Peer {
  readonly name: string;
  readonly kind: 'local' | 'remote';
  readonly state: string;
  readonly url?: string;
  readonly since?: string;
  readonly reason?: string;
  readonly hint?: string;
  readonly description?: string;
  readonly skills: readonly { readonly name: string }[];
}
export interface NodeStatus {
  readonly root: string;
  readonly model: string;
  readonly published: readonly string[];
  readonly peers: readonly Peer[];
  readonly findings?: readonly { readonly subject: string; readonly text: string; readonly hint?: string }[];
}

/** The server, once it has answered. */
export const node = signal<NodeStatus | undefined>(undefined);

export async function loadNode(): Promise<NodeStatus> {
  node.value = await owner<NodeStatus>('agents');
  return node.value;
}

/** The agents that can be asked here, the root agent first. */
export function agentsOf({ root, published }: NodeStatus): readonly string[] {
  return [root, ...published.filter((name) => name !== root)];
}
