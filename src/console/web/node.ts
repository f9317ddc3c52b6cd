import { signal } from '@preact/signals';
import { shortNodeName } from '../../core/agent.js';
import type { CardFinding, KnownNode, NodeStatus } from '../../core/node-status.js';
import { owner } from './api.js';

export type { NodeStatus };

export interface Card {
  readonly name?: string;
  readonly description?: string;
  readonly version?: string;
  readonly supportedInterfaces?: readonly {
    readonly url: string;
    readonly protocolBinding: string;
    readonly protocolVersion?: string;
  }[];
  readonly skills?: readonly {
    readonly id: string;
    readonly name: string;
    readonly examples?: readonly string[];
  }[];
  readonly signatures?: readonly unknown[];
}

/** The card of an agent, with the findings about it, as `lango card --check` reports them. */
export const readCard = (agent: string) =>
  owner<{ readonly card: Card; readonly findings: readonly CardFinding[] }>(
    `agents/${encodeURIComponent(agent)}/card`,
  );

/** The status of the server, once it has come. */
export const node = signal<NodeStatus | undefined>(undefined);

export async function loadNode(): Promise<NodeStatus> {
  node.value = await owner<NodeStatus>('agents');
  return node.value;
}

/** The agents that can be asked here, the root agent first. */
export function agentsOf({ root, published }: NodeStatus): readonly string[] {
  return [root, ...published.filter((name) => name !== root)];
}

/** This node, and those of its remote agents, once they have come. */
export const knownNodes = signal<readonly KnownNode[]>([]);

export async function loadNodes(): Promise<readonly KnownNode[]> {
  const { nodes } = await owner<{ nodes: readonly KnownNode[] }>('nodes');
  knownNodes.value = nodes;
  return nodes;
}

/** The name of a node as people read it; the beginning of its id while its name is not known here. */
export const nodeName = (id: string) =>
  knownNodes.value.find((node) => node.id === id)?.name ?? shortNodeName(id);

/** The name of the node of a remote agent; undefined for an agent of this node. */
export function farNodeOf(agent: string): string | undefined {
  const remote = node.value?.peers.find(({ name, kind }) => name === agent && kind === 'remote');
  if (!remote) return undefined;
  const origin = originOf(remote.url);
  const known = knownNodes.value.find(({ url }) => url !== undefined && originOf(url) === origin);
  return known?.name ?? agent;
}

const originOf = (url = '') => (URL.canParse(url) ? new URL(url).origin : url);

/** The name of the node where an agent works. */
export const nodeOf = (agent: string) => farNodeOf(agent) ?? knownNodes.value[0]?.name ?? '';
